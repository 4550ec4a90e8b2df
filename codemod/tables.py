"""Tables of the codemod: words of today -> words of the glossary. Paths are regular expressions."""

import re

# --- paths -----------------------------------------------------------------------------------
SKIP = re.compile(
    r"^(LICENSE|spmopt/CHANGELOG\.md|spmopt/docs/|tests/golden/(version1|kept)/|tests/golden/renames\.toml"
    r"|instances/(?!README|index|minimalloc/README)|.*vendor/|spmopt/io/renames|tests/io/test_renames|results/[a-z_]+/.*\.(csv|json|db|png|svg|txt)$|.*\.(png|svg|gz|db|onnx|pt2|tflite)$"
    r"|results/peers/(recorded|ask)/|\.git|results/house/(renames|budget))"
)
FUSION = (
    r"^(spmopt/core/(pieces|fusion)/|formulations/covers/|formulations/fusion/|spmopt/graph/|spmopt/io/(pieces|covers|fusion)"
    r"|spmopt/verifier/|tests/formulations/(covers|fusion)/|tests/graph/|tests/verifier/|tests/explain/test_segments"
    r"|tests/io/|spmopt/analysis/segments|spmopt/reporting/(segments|schedule_view|trace)|tests/reporting/test_segments"
    r"|results/peers/soma|tests/solving/(test_larger_maps|test_audit_pieces|test_pieces)|results/pieces|tests/fuzz)"
)
FOREIGN = r"^(spmopt/frontends/|tests/frontends/|results/(torch|peers)/|spmopt/graph/(composites|operators)/|spmopt/execution/(kernels|values|emission/reference))"
NOT_PIECES = (
    r"^(spmopt/(policies|tiles|assemble|execution|hardware|frontends|core/placement)|formulations/(placement|residency|contiguous|joint|pulp_model)"
    r"|tests/(tiles|execution|policies|formulations/(placement|pages|contiguous|whole|banks))|tests/io/test_(minimalloc|costs)|spmopt/io/minimalloc|spmopt/verifier/(bank_use|moving|pricing|memory|descriptors)|results/(gradient|place))"
)
NOT_SEGMENT = (
    r"^(spmopt/(execution|policies|frontends|graph/composites)|formulations/(residency|joint|contiguous|placement)"
    r"|tests/(execution|policies|frontends|formulations/(banks|joint|contiguous|placement|pages))|results/execution|results/fuzz)"
)
NOT_BAND = r"^(spmopt/reporting/(curves|plots|search|charts)|tests/reporting/(curves|plots|search|charts))"
NOT_FAMILY = r"^(formulations/(joint|step_windows|pulp_model|residency|orders)|tests/formulations/(joint|step_windows|pulp_model|plain)|spmopt/(frontends|schedulers/registry))"
MONEY = r"^spmopt/search/(space|figures|setup|study)|^spmopt/hardware"

# --- identifiers: exact ----------------------------------------------------------------------
# (name, new name, only paths, not paths)
EXACT = [
    ("Problem", "ProblemOptions", r"^spmopt/cli/", None),
    ("ListedProblem", "ListedProblemOptions", r"^spmopt/cli/", None),
    ("problem", "problem_options", r"^spmopt/cli/(schedule|views|story|ablation|options)", None),
    ("Problem", "BoundingTask", r"formulations/(covers|fusion)/(bounding|schedule)|tests/formulations/(covers|fusion)/test_bounding", None),
    ("problem", "task", r"formulations/(covers|fusion)/bounding", None),
    ("WholeProblem", "WholeTensorCase", None, None),
    ("problem_of", "scheduling_case_of", r"search", None),
    ("problem", "program", r"formulations/pulp_model/", None),
    ("problem", "failure", r"formulations/(compile_kernel|residency/bound/compiled)", None),
    ("problem", "failure", r"^tests/formulations/bound/test_compiled|results/shared/page", None),
    ("placing", "allocation", r"^spmopt/cli/|^tests/(api|cli)/", None),
    ("dual", "row_duals", r"^(formulations/(covers|fusion)/(rows|segment|fused_group)|tests/formulations/plain/model)", None),
    ("problem", "make_problem", r"^tests/(assemble|policies)/", None),
    ("mapping", "relabeling", r"formulations/joint/symmetries", None),
    ("_mappings", "_relabelings", r"formulations/joint/symmetries", None),
    ("Cover", "FusionPlan", None, None),
    ("cover_bound", "fusion_bound", None, None),
    ("cover_gap", "fusion_gap", None, None),
    ("CoverCertificate", "FusionCertificate", None, None),
    ("Segment", "FusedGroup", None, r"formulations/residency|execution"),
    ("Pieces", "FusionResult", None, r"^(spmopt|tests)/(policies|tiles)"),
    ("StoredPieces", "StoredFusion", None, None),
    ("PiecesDocument", "FusionDocument", None, None),
    ("Listing", "TileableGraph", None, r"spmopt/(api/lists|api/__init__|__init__)|tests/api|spmopt/reporting/(lists|tables)|spmopt/cli"),
    ("listing", "tileable", None, r"spmopt/(api/lists|api/__init__|__init__)|tests/api/test_list|spmopt/cli/lists"),
    ("ListedOperation", "TileableOperation", None, None),
    ("listing_of", "tileable_graph_of", None, None),
    ("listing_for", "tileable_graph_for", None, None),
    ("random_listing", "random_tileable_graph", None, None),
    ("Mode", "OpMapping", None, None),
    ("Modes", "OpMappings", None, None),
    ("Plan", "ResidencyPlan", None, None),
    ("plan", "residency_plan", None, r"spmopt/search|spmopt/frontends"),
    ("LISTER", "RESIDENCY", None, None),
    ("CHOOSER", "FUSION", None, None),
    ("_chooser", "_fusion_scheduler", None, None),
    ("chooser", "fusion_scheduler", None, None),
    ("with_chooser", "with_fusion_scheduler", None, None),
    ("stationary", "required_resident", None, None),
    ("sums", "partial_sums", r"^(spmopt/core/(pieces|fusion)|formulations/(covers|fusion)|spmopt/(graph/(listing|tileable|rows|relisting|folding)|verifier|search/proofs|audit)|tests/formulations/(covers|fusion)|tests/(verifier|graph))", None),
    ("Dual", "DualFunction", r"formulations/residency|tests/formulations|formulations/", None),
    ("at_once", "run_parallel", None, None),
    ("few", "is_small", r"formulations/residency/banks|tests/formulations/banks", None),
    ("_VAIN", "_FRUITLESS", None, None),
    ("place_in_time", "allocate_in_time", None, None),
    ("place_in_banks", "allocate_in_banks", None, None),
    ("story", "ablation", None, None),
    ("Story", "Ablation", None, None),
    ("stories", "ablations", None, None),
    ("read_cover", "read_fusion_plan", None, None),
    ("piece", "fusion_tile", FUSION + "|spmopt/audit|execution/(part_layout|graph_kernel|computations)", None),
    ("FAMILIES", "FUSION_SPACES", None, NOT_FAMILY),
    ("Family", "FusionSpace", None, NOT_FAMILY),
    ("BANDS", "STRIPES", None, NOT_BAND),
]

# --- identifiers: sequences of parts ---------------------------------------------------------
# (old parts, new parts, only paths, not paths, not if the part before is one of)
PARTS = [
    ("cover_bound", "fusion_bound", None, None, ""),
    ("cover_gap", "fusion_gap", None, None, ""),
    ("cover_certificate", "fusion_certificate", None, None, ""),
    ("list_as_given", "layer_by_layer", None, None, ""),
    ("of_covers", "of_fusion_plans", None, None, ""),
    ("covers", "fusion_plans", None, r"^spmopt/reporting/curves", ""),
    ("cover", "fusion_plan", None, r"^spmopt/reporting/(curves|plots)", ""),
    ("page_segments", "page_segments", None, None, ""),
    ("get_segments", "get_segments", None, None, ""),
    ("segments", "fused_groups", None, NOT_SEGMENT, ""),
    ("segment", "fused_group", None, NOT_SEGMENT, ""),
    ("borders", "boundaries", None, None, ""),
    ("border", "validation", r"^tests/fuzz/workers", None, ""),
    ("border", "boundary", None, None, ""),
    ("band_modes", "stripe_mappings", None, None, ""),
    ("band_mode", "stripe_mapping", None, None, ""),
    ("bands", "stripes", None, NOT_BAND, ""),
    ("band", "stripe", None, NOT_BAND, ""),
    ("banded", "striped", FUSION + "|spmopt/(search|audit|solving)|tests/", None, ""),
    ("is_in_pieces", "is_fused", None, NOT_PIECES, ""),
    ("in_pieces", "fused", None, NOT_PIECES, ""),
    ("usual_pieces", "default_fusion", None, NOT_PIECES, ""),
    ("pieces", "fusion", None, NOT_PIECES, ""),
    ("piece_modes", "tile_mappings", None, None, ""),
    ("piece_maps", "tile_maps", None, None, ""),
    ("piece_map", "tile_map", None, None, ""),
    ("piece_of", "tile_of", None, None, ""),
    ("piece_names", "tile_names", None, None, ""),
    ("piece", "fusion_tile", FUSION, None, ""),
    ("instance_normalization", "instance_normalization", None, None, ""),
    ("instance_norm", "instance_norm", None, None, ""),
    ("frozen_instance_error", "frozen_instance_error", None, None, ""),
    ("instances", "problems", None, None, ""),
    ("instance", "problem", None, None, ""),
    ("max_modes", "max_mappings", None, None, ""),
    ("modes", "mappings", None, FOREIGN, ""),
    ("ceil_mode", "ceil_mode", None, None, ""),
    ("st_mode", "st_mode", None, None, ""),
    ("counter_mode", "counter_mode", None, None, ""),
    ("transformation_mode", "transformation_mode", None, None, ""),
    ("nearest_mode", "nearest_mode", None, None, ""),
    ("padding_mode", "padding_mode", None, None, ""),
    ("strict_mode", "strict_mode", None, None, ""),
    ("standalone_mode", "standalone_mode", None, None, ""),
    ("mode", "mapping", None, FOREIGN + r"|^spmopt/core/(border|validation)|^spmopt/io/document", "op"),
    ("listing_of_stores", "listing_of_stores", None, None, ""),
    ("listing", "tileable_graph", None, r"spmopt/((api|cli)/lists|__init__)|tests/api/test_list", ""),
    ("lowering", "mapper", None, None, ""),
    ("stationary", "required_resident", None, None, ""),
    ("pass_program", "pass_program", None, None, ""),
    ("passes", "fetches", None, r"^(spmopt/frontends|tests/frontends|results/(torch|peers))", ""),
    ("plans", "residency_plans", None, r"^(spmopt/search|spmopt/frontends)", "fusion residency"),
    ("plan", "residency_plan", None, r"^(spmopt/search|spmopt/frontends)", "fusion residency memory contiguous"),
    ("shadow_prices", "shadow_prices", None, None, ""),
    ("shadow_price", "shadow_price", None, None, ""),
    ("prices", "duals", None, MONEY, "shadow"),
    ("price", "dual", None, MONEY, "shadow"),
    ("given_of_lowering", "mapper_arguments", None, None, ""),
    ("families", "fusion_spaces", None, NOT_FAMILY, ""),
    ("family", "fusion_space", None, NOT_FAMILY, ""),
    ("stories", "ablations", None, None, ""),
    ("story", "ablation", None, None, ""),
]

STRING_WORDS = set(  # single words that are keys of JSON or names of attributes when a string is only that
    """cover covers segment segments border borders bands band mode modes passes stationary instance lowering
    family prices price listing sums story""".split()
)
