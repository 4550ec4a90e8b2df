"""Functions named by a participle become verbs; scopes are resolved, so that variables keep their names."""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict

BASE = dict(
    pair.split(":")
    for pair in """accessed:access activated:activate added:add agreed:agree aligned:align allowed:allow animated:animate applied:apply
arranged:arrange asked:ask assumed:assume attended:attend banded:make_stripes banked:assign_banks barred:bar batched:batch begun:begin
biased:add_bias bounded:bound brought:bring buffered:buffer built:build captured:capture carried:carry certified:certify changed:change
checked:check chosen:choose claimed:claim closed:close combined:combine compared:compare completed:complete computed:compute configured:configure
consolidated:consolidate converged:converge converted:convert convolved:convolve copied:copy counted:count crossed:cross damaged:damage
dealt:deal decided:decide declared:declare decoded:decode deduced:deduce deformed:deform described:describe divided:divide dominated:dominate
done:finish doubled:double drawn:draw dropped:drop earned:earn embedded:embed enclosed:enclose encoded:encode ended:end entered:enter
entitled:add_title enumerated:enumerate_all escaped:escape evaluated:evaluate exchanged:exchange excluded:exclude executed:execute
expanded:expand explained:explain exported:export_file extrapolated:extrapolate filled:fill finished:finish fitted:fit fixed:fix flagged:flag
folded:fold followed:follow forced:force found:find gained:gain gated:gate gathered:gather given:give grouped:group guarded:guard guided:guide
handled:handle heard:listen held:hold hidden:hide hinted:hint imported:import_target improved:improve indexed:index_by inferred:infer inlined:inline
issued:issue joined:join kept:keep known:look_up labeled:label lengthened:lengthen limited:limit linked:link listed:list_all loaded:load
located:locate locked:lock lost:lose lowered:lower made:make marked:mark masked:mask measured:measure merged:merge met:meet
mirrored:mirror misaligned:misalign missed:miss mixed:mix moved:move multiplied:multiply named:with_name needed:require normalized:normalize
normed:normalize noted:note numbered:number occupied:occupy offered:offer opened:open_storage ordered:order packed:pack padded:pad parsed:parse
parted:part partitioned:partition permuted:permute placed:place planned:plan_residency polished:polish pooled:pool ported:use_port predicted:predict
prepared:prepare priced:price_columns projected:project proved:prove published:publish quantized:quantize queued:queue raised:raise_values ranked:rank
rearranged:rearrange reduced:reduce refused:refuse relaxed:relax relisted:relist renamed:rename reordered:reorder repaired:repair repeated:repeat
replaced:replace replayed:replay rescaled:rescale reshaped:reshape resized:resize restored:restore retyped:retype reworded:reword rolled:roll
rounded:round_values said:say sampled:sample saturated:saturate saved:save scaled:scale scattered:scatter scheduled:schedule_all searched:search
seen:inspect settled:settle shaken:shake shared:share shifted:shift shipped:ship shortened:shorten shown:show silenced:silence sized:size
sliced:slice_tensor slid:slide solved:solve spelled:spell spent:spend spoken:speak squared:square squeezed:squeeze stacked:stack
stalled:stall started:start stated:state stepped:step stored:store streamed:stream strided:stride summed:sum_up swapped:swap swept:sweep
tabulated:tabulate taken:take tiled:tile timed:time touched:touch transposed:transpose tried:try_all turned:turn typed:assign_type
unpacked:unpack unpadded:unpad updated:update used:use valued:evaluate verified:verify viewed:view violated:violate walked:walk wanted:want
weighed:weigh weighted:weight widened:widen wrapped:wrap written:write scratched:add_scratch unexpanded:sum_expanded
unsliced:scatter_slice untiled:sum_tiles untimed:drop_times unused:find_unused undominated:drop_dominated untrained:freeze
dominating:dominate told:send_hints undecided:find_undecided unsorted:find_unsorted untyped:find_untyped unbalanced:find_unbalanced
unfinished:find_unfinished unverified:find_unverified undisturbed:defer_interrupts lost:lose""".split()
)
# Whole names that get another one; by name, for functions of spmopt and formulations.
OVERRIDES = dict(
    pair.split(":")
    for pair in """found_file:find_file found_whole:find_whole given_up:give_up _given_up:_give_up built_of:build_from _built_json:_build_json
_accessed_again:_is_accessed_again _added_up:_add_up _fallen_apart:_split_parts _held_until:_hold_until _needed_until:_last_need
brought_in:bring_in filled_in:fill_in looked_up:look_up made_here:is_made_here _made_plain:_make_plain _made_room:_make_room
kept_plan:keep_plan moved_plan:move_plan kept_node:keep_node kept_result:keep_result kept_paths:keep_paths kept_cells:keep_cells
kept_more:bytes_kept_more kept_through:keep_through ordered_nodes:order_nodes ranked_outcome:rank_outcomes relaxed_mode:relax_mode
relaxed_timeline:relax_timeline relaxed_value:relax_value listed_timeline:timeline_in_order stored_sweep:read_sweep stored_once:require_one_store
stored_or_together:store_or_join summed_to:sum_to _taken_apart:_take_apart timed_start:time_start _told_apart:_tell_apart
_told_to_stop:_is_stopped waited_for_by:waits_for _worked_out:_work_out written_batch:batch_of_file decided_at_once:decide_together
_proved_runs:_prove_runs priced_arcs:price_arcs raised_rows:raise_rows reduced_axes:axes_reduced repeated_constants:repeat_constants
rescaled_shape_input:rescale_shape_input _resized_back:_resize_back _transposed_back:_transpose_back rounded_channels:round_channels
rounded_down:round_down _saved_anyway:_bytes_saved_anyway saved_bytes:bytes_saved saved_cycles:cycles_saved shown_bandwidth:show_bandwidth
shown_fields:fields_to_show shown_setting:show_setting spent_s:seconds_spent touched_bytes:bytes_touched typed_rates:rates_by_type
used_again:is_used_again used_spm_bytes:spm_bytes_used needed_bytes:bytes_needed needed_pages:pages_needed _needed_pages:_pages_needed
needed_of:bytes_needed_of needed_stores:stores_needed occupied_bytes:bytes_occupied occupied_pages:pages_occupied named_fields:fields_by_name
moved_bytes:bytes_moved moved_whole:move_whole missed_in_training:warn_of_training known_batch:batch_of known_before:is_known_before
_known_before:_is_known_before joined_profile:join_profile issued_stores:stores_issued improved_by_windows:improve_by_windows
improved_in_windows:improve_in_windows _hidden_bytes:_bytes_hidden held_before:bytes_held_before held_by_banks:bytes_held_by_banks
held_early:bytes_held_early held_pages:pages_held _heard_at:_report_at given_pieces:resolve_pieces filled_pages:pages_filled
entered_dirty:enter_dirty _embedded_steps:_embed_steps covered_bytes:bytes_covered barred_arcs:bar_arcs barred_scratch:bar_scratch
assumed_shares:shares_assumed allowed_differences:differences_allowed _kept_by_layers:_bytes_kept_by_layers
missed_in_training:warn_of_training  _summed:_sum _sliced:_slice _listed:_list _typed:_assign_type _rounded:_round _ranked:_rank _opened:_open
_imported:_import_target _tried:_try _raised:_raise_limit _shared:_share _scratched:_add_scratch""".split()
)
KEEP = set(
    "enclosed exported rounded_gemm_computes rounded_gemm blocked_computes blocked_product blocked_shapes batched_product fused_conv fused_gemm fused_matmul grouped_attention masked_shapes "
    "packed_attention _picked_loss _picked_loss_back quantized_attention quantized_concat quantized_convolution_computes resampled_computes "
    "resized_computes rolled_computes scaled_product strided_view_shapes transposed_convolution_product transposed_convolution_shapes "
    "transposed_window_shape".split()
)
FOREIGN_ATTRIBUTES = {"done", "closed", "started", "cancelled", "stopped", "sliced", "ended"}
IRREGULAR = set(
    "found said told kept held made given taken done seen known sent begun chosen drawn written shown hidden spoken built bought brought "
    "caught gone lost met paid sold spent stood thought understood won worn borne become grown broken driven fallen felt dealt lent meant "
    "sought swept owed torn thrown woven bent heard stuck struck shaken swung slid".split()
)
NO_PARTICIPLE = {"need", "feed", "seed", "speed", "embed", "shed", "exceed", "proceed", "bleed", "red", "fixed_size", "indeed"}


def participle(word: str) -> bool:
    return (word.endswith("ed") and word not in NO_PARTICIPLE and len(word) > 3) or word in IRREGULAR


def new_function(name: str, node: ast.AST) -> str | None:
    if name.startswith("__") or name in KEEP or name.endswith(("_computes", "_shapes", "_product", "_gradients")):
        return None  # tables of operators name some by their suffix
    lead = re.match("_*", name).group()
    words = name[len(lead):].split("_")
    if not (participle(words[0]) or name in OVERRIDES):
        return None
    returns = getattr(node, "returns", None)
    if name not in OVERRIDES and isinstance(returns, ast.Name) and returns.id == "bool":
        return f"{lead}is_{'_'.join(words)}"
    if name in OVERRIDES:
        return OVERRIDES[name]
    base = BASE.get(words[0])
    if base is None:
        return None
    if len(words) > 1:
        base = base.split("_")[0] if len(words) > 1 else base
    return lead + "_".join([base, *words[1:]])


def module_of(path: str) -> str:
    name = path.removesuffix(".py").removesuffix(".pyi").replace("/", ".") + (":stub" if path.endswith(".pyi") else "")
    return name.removesuffix(".__init__")


SKIP: dict[tuple[str, str], str] = {}
"""Functions with a new name: an import of one inside a function counts as one of the module."""


class Bound(ast.NodeVisitor):
    """Names bound in one function scope, not in those within."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.free: set[str] = set()

    def of(self, node: ast.AST) -> set[str]:
        args = getattr(node, "args", None)
        if isinstance(args, ast.arguments):
            for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
                if arg is not None:
                    self.names.add(arg.arg)
        body = node.body if isinstance(node.body, list) else [node.body]
        for each in body:
            self.visit(each)
        return self.names - self.free

    def visit_FunctionDef(self, node):
        self.names.add(node.name)
        for each in node.decorator_list:
            self.visit(each)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        self.names.add(node.name)

    def visit_Lambda(self, node):
        pass

    def _comprehension(self, node):
        # only walrus targets and the first iterable belong to the scope outside
        for each in ast.walk(node):
            if isinstance(each, ast.NamedExpr):
                self.names.add(each.target.id)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Global(self, node):
        self.free.update(node.names)

    visit_Nonlocal = visit_Global

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store | ast.Del):
            self.names.add(node.id)

    def visit_Import(self, node):
        self.names.update((a.asname or a.name).split(".")[0] for a in node.names)

    def visit_ImportFrom(self, node):
        self.names.update(
            a.asname or a.name for a in node.names if a.asname or (node.module, a.name) not in SKIP
        )

    def visit_ExceptHandler(self, node):
        if node.name:
            self.names.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node):
        if node.name:
            self.names.add(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node):
        if node.name:
            self.names.add(node.name)


_BOUNDS: dict[int, tuple[object, set[str]]] = {}


def bound_of(node):
    key = id(node)
    if key not in _BOUNDS:
        _BOUNDS[key] = (node, Bound().of(node))
    return _BOUNDS[key][1]


class Uses(ast.NodeVisitor):
    """References to names of the module's own scope, with all that is bound around each."""

    def __init__(self, wanted: set[str]) -> None:
        self.wanted = wanted
        self.scopes: list[tuple[set[str], dict]] = []
        self.hits: list[tuple[str, int, int, set[str]]] = []
        self.imports: list = []

    def function(self, node):
        for each in [*getattr(node, "decorator_list", []), *(node.args.defaults), *(d for d in node.args.kw_defaults if d)]:
            self.visit(each)
        for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]:
            if arg is not None and arg.annotation is not None:
                self.visit(arg.annotation)
        if getattr(node, "returns", None) is not None:
            self.visit(node.returns)
        self.scopes.append(bound_of(node))
        body = node.body if isinstance(node.body, list) else [node.body]
        for each in body:
            self.visit(each)
        self.scopes.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = function

    def comprehension(self, node):
        names: set[str] = set()
        for generator in node.generators:
            for each in ast.walk(generator.target):
                if isinstance(each, ast.Name):
                    names.add(each.id)
        self.visit(node.generators[0].iter)
        self.scopes.append(names)
        for index, generator in enumerate(node.generators):
            if index:
                self.visit(generator.iter)
            for each in generator.ifs:
                self.visit(each)
        if isinstance(node, ast.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def visit_ClassDef(self, node):
        for each in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
            self.visit(each)
        names = Bound()
        for each in node.body:
            names.visit(each)
        for each in node.body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self.visit(each)
            else:
                self.scopes.append(names.names)
                self.visit(each)
                self.scopes.pop()

    def visit_Name(self, node):
        if node.id in self.wanted and not any(node.id in scope for scope in self.scopes):
            around = set().union(*self.scopes) if self.scopes else set()
            self.hits.append((node.id, node.lineno, node.col_offset, around))


def rename(python: dict[str, str]) -> dict[str, str]:
    trees = {path: ast.parse(text) for path, text in python.items()}
    modules = {module_of(path): path for path in python}
    new: dict[tuple[str, str], str] = {}  # (module, name) -> new name
    report: list[str] = []
    exported = exported_names(python)
    top: dict[str, set[str]] = {}
    for path, tree in trees.items():
        names = Bound()
        for node in tree.body:
            names.visit(node)
        top[path] = names.names
        if not path.startswith(("spmopt/", "formulations/")):
            continue
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                found = new_function(node.name, node)
                if found and node.name not in exported:
                    if found in top[path] or hasattr(builtins, found) or keyword(found):
                        found = FALLBACK.get(node.name, found)
                    if found in top[path] or hasattr(builtins, found) or keyword(found):
                        report.append(f"{path}: {node.name} -> {found} collides")
                        continue
                    new[module_of(path), node.name] = found
    # names that are imported from elsewhere
    froms = [
        (module_of(path), node.module, alias.name)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0
        for alias in node.names
        if alias.asname is None
    ]
    while True:
        more = {}
        for module, source, name in froms:
            found = new.get((source, name))
            if found and (module, name) not in new:
                more[module, name] = found
        if not more:
            break
        new |= more
    # drop what collides at any place of use
    SKIP.clear()
    SKIP.update(new)
    _BOUNDS.clear()
    hits: dict[str, list] = {}
    while True:
        bad: set[tuple[str, str]] = set()
        by_module: dict[str, dict[str, str]] = defaultdict(dict)
        for (m, name), f in new.items():
            by_module[m][name] = f
        for path, tree in trees.items():
            module = module_of(path)
            local = by_module.get(module, {})
            if not local:
                continue
            for name, found in local.items():
                others = top[path] - {name}
                if found in others:
                    bad.add((module, name))
            if path not in hits:
                uses = Uses(set(local))
                uses.visit(tree)
                hits[path] = uses.hits
            for name, _line, _col, around in hits[path]:
                if name in local and local[name] in around:
                    bad.add((module, name))
        if not bad:
            break
        drop = {(name, new[key]) for key in bad for name in [key[1]]}
        origin = {key for key in new if (key[1], new[key]) in drop}
        for key in origin:
            report.append(f"{key[0]}.{key[1]} -> {new[key]}: bound at a use")
            second = second_name(key[1], new[key])
            if second and second != new[key]:
                new[key] = second
            else:
                del new[key]
    methods = methods_of(trees, report)
    lazily = {f"{m}:{name}": f"{m}:{found}" for (m, name), found in new.items()}
    dotted = {f"{m}.{name}": f"{m}.{found}" for (m, name), found in new.items()}
    unique: dict[str, set[str]] = defaultdict(set)
    for (m, name), found in new.items():
        unique[name].add(found)
    result = {}
    locals_of: dict[str, dict[str, str]] = defaultdict(dict)
    for (m, name), found in new.items():
        locals_of[m][name] = found
    for path, text in python.items():
        local = locals_of.get(module_of(path), {})
        result[path] = apply(path, text, trees[path], new, methods, modules, lazily, dotted, unique, local)
    global LAZY
    LAZY = lazily
    global REPORT
    REPORT = report
    return result


LAZY: dict[str, str] = {}
REPORT: list[str] = []


FALLBACK = dict(
    pair.split(":")
    for pair in """arranged:arrange_buffers _grouped:_group_channels _held:_hold_values locked:lock_file numbered:number_of scheduled:schedule_parallel
solved:solve_layer""".split()
)


_DOTTED = re.compile(r"(?<![\w.])(?:spmopt|formulations)[\w.]*[.:]\w+(?!\w)")


def second_name(name: str, found: str) -> str | None:
    return SECOND.get(name)


SECOND = dict(
    pair.split(":")
    for pair in """compared:compare_with handled:handle_signals decided:decide_residency kept:keep_all searched:search_orders stored_sweep:read_stored_sweep
moved:shift_all _moved:_shift_all kept:keep_all found:find_all joined:join_all named:name_of taken:take_all""".split()
)


def keyword(name: str) -> bool:
    import keyword as k

    return k.iskeyword(name)


def imports_of(tree):
    return {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}


def exported_names(python) -> set[str]:
    text = python.get("spmopt/__init__.py", "")
    return set(re.findall(r'"(\w+)"', text))


def methods_of(trees, report) -> dict[str, str]:
    defined: dict[str, set[str]] = defaultdict(set)
    others: set[str] = set()
    members: dict[str, set[str]] = defaultdict(set)
    where: dict[str, set[str]] = defaultdict(set)
    callables: set[str] = set()
    unrenamed: set[str] = set()
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    member = getattr(each, "name", None) or getattr(getattr(each, "target", None), "id", None)
                    if isinstance(each, ast.FunctionDef) and not any(
                        "property" in ast.unparse(d) for d in each.decorator_list
                    ):
                        METHODS[path].add(each.name)
                    if member:
                        members[path].add(member)
                        where[member].add(path)
                    if isinstance(each, ast.FunctionDef):
                        found = new_function(each.name, each) if path.startswith(("spmopt/", "formulations/")) and not path.endswith(".pyi") else None
                        is_property = any("property" in ast.unparse(d) for d in each.decorator_list)
                        if found and not is_property:
                            defined[each.name].add(found)
                        elif found and is_property:
                            returns = each.returns
                            if isinstance(returns, ast.Name) and returns.id == "bool":
                                defined[each.name].add(found)
                            else:
                                others.add(each.name)
                        else:
                            others.add(each.name)
                            unrenamed.add(each.name)
                    elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                        others.add(each.target.id)
                        FIELDS[path].add(each.target.id)
                        if "Callable" in ast.unparse(each.annotation):
                            callables.add(each.target.id)
                    elif isinstance(each, ast.Assign):
                        others.update(t.id for t in each.targets if isinstance(t, ast.Name))
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                others.add(node.attr)
                members[path].add(node.attr)
                FIELDS[path].add(node.attr)
    result = {}
    for name, found in defined.items():
        if name in FOREIGN_ATTRIBUTES or name in callables or name in unrenamed or len(found) > 1 or not name:
            report.append(f"method {name} -> {found}: not renamed")
            continue
        new = found.pop()
        if keyword(new) or any(new in members[path] for path in where[name]):
            report.append(f"method {name} -> {new}: collides")
            continue
        if name in others:
            CALLED[name] = new
        else:
            result[name] = new
    return result


FIELDS: dict[str, set[str]] = defaultdict(set)
METHODS: dict[str, set[str]] = defaultdict(set)
CALLED: dict[str, str] = {}
"""Methods whose name fields have too: renamed where they are called."""


def apply(path, text, tree, new, methods, modules, lazily, dotted, unique, local) -> str:
    lines = text.split("\n")
    edits: set[tuple[int, int, str, str]] = set()
    if local:
        uses = Uses(set(local))
        uses.visit(tree)
        for name, line, col, _around in uses.hits:
            edits.add((line, col, name, local[name]))
    aliases = {}  # local name -> module
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                if f"{node.module}.{alias.name}" in modules:
                    aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                found = new.get((node.module, alias.name))
                if found:
                    edits.add((alias.lineno, alias.col_offset, alias.name, found))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    aliases[alias.asname] = alias.name
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in local:
            edits.add((node.lineno, at_name(lines, node), node.name, local[node.name]))
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            for each in ast.walk(node.value):
                if isinstance(each, ast.Constant) and each.value in local:
                    edits.add((each.lineno, each.col_offset + 1, each.value, local[each.value]))
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found = None
            if isinstance(node.value, ast.Name) and node.value.id in aliases:
                found = new.get((aliases[node.value.id], node.attr))
            elif isinstance(node.value, ast.Attribute):
                full = ast.unparse(node.value)
                found = new.get((full, node.attr))
            if found is None and node.attr in methods and not (isinstance(node.value, ast.Name) and node.value.id in aliases):
                found = methods[node.attr]
            if found is None and node.attr in CALLED and (
                id(node) in called
                or (
                    isinstance(node.value, ast.Name)
                    and node.value.id in ("self", "cls")
                    and node.attr in METHODS[path]
                    and node.attr not in FIELDS[path]
                )
                or (isinstance(node.value, ast.Name) and node.value.id[:1].isupper() and not node.value.id.isupper())
            ) and not (isinstance(node.value, ast.Name) and node.value.id in aliases):
                found = CALLED[node.attr]
            if found:
                edits.add((node.end_lineno, node.end_col_offset - len(node.attr.encode()), node.attr, found))
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if not isinstance(each, ast.FunctionDef):
                    continue
                plain = not any("property" in ast.unparse(d) for d in each.decorator_list)
                found = methods.get(each.name) or (CALLED.get(each.name) if plain else None)
                if found:
                    edits.add((each.lineno, at_name(lines, each), each.name, found))
    raw = [line.encode() for line in lines]
    for line, col, name, found in sorted(edits, reverse=True):
        content = raw[line - 1]
        if content[col : col + len(name)] != name.encode():
            continue
        raw[line - 1] = content[:col] + found.encode() + content[col + len(name):]
    text = "\n".join(line.decode() for line in raw)
    text = _DOTTED.sub(lambda m: lazily.get(m[0]) or dotted.get(m[0]) or m[0], text)
    text = re.sub(r":func:`(~?[\w.]*?)(\w+)`", lambda m: reference(m, unique, local), text)
    text = re.sub(r":meth:`(~?[\w.]*?)(\w+)`", lambda m: f":meth:`{m[1]}{methods.get(m[2], m[2])}`", text)
    text = re.sub(
        r'(setattr\([\w.]+, ")(\w+)"',
        lambda m: m[1] + (next(iter(unique[m[2]])) if len(unique.get(m[2], ())) == 1 else methods.get(m[2], m[2])) + '"',
        text,
    )
    return text


def reference(match, unique, local):
    name = match[2]
    found = local.get(name)
    if found is None and len(unique.get(name, ())) == 1:
        found = next(iter(unique[name]))
    return f":func:`{match[1]}{found or name}`"


def at_name(lines, node) -> int:
    line = lines[node.lineno - 1]
    return len(line[: line.index("def ", len(line[: node.col_offset])) + 4].encode())
