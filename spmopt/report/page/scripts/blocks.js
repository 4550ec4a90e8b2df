// The data of the page: blocks of JSON, compressed, in base64.

/**
 * The value of a block, or null if the page has none of that name.
 * @param {string} name
 * @returns {Promise<any>}
 */
async function block(name) {
  const holder = document.getElementById(`data-${name}`);
  if (!holder) return null;
  const letters = atob(holder.textContent || "");
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
