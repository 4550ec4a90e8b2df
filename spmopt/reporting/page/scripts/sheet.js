// A page of pictures and tables: the tables are built from their blocks.

async function drawSheet() {
  for (const holder of document.querySelectorAll("[data-table]"))
    holder.replaceChildren(new DataTable(await block(holder.dataset.table)).root);
  document.documentElement.dataset.drawn = "all";
}

drawSheet().catch(showError);
