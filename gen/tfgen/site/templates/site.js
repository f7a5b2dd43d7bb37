// Sorts and filters the table of jobs. The address keeps both, so that a link shows the same rows.
"use strict";

const table = document.getElementById("table");
const body = table.tBodies[0];
const headers = [...table.tHead.rows[0].cells];
const search = document.getElementById("search");
const rows = [...body.rows].map((row) => ({ row, text: row.textContent.toLowerCase() }));
let sorted = { column: -1, descending: false };

function key(row, column) {
  const cell = row.cells[column];
  return cell.dataset.sort ?? cell.textContent.trim();
}

function sort(column, descending) {
  const isNumber = headers[column].classList.contains("number");
  const keyed = rows.map((item) => [isNumber ? Number(key(item.row, column)) || 0 : key(item.row, column), item]);
  keyed.sort(([a], [b]) => (isNumber ? a - b : a.localeCompare(b)));
  if (descending) keyed.reverse();
  body.append(...keyed.map(([, item]) => item.row));
  headers.forEach((header, index) => header.setAttribute(
    "aria-sort", index !== column ? "none" : descending ? "descending" : "ascending"));
  sorted = { column, descending };
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { row, text } of rows) {
    row.hidden = !words.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  document.getElementById("shown").textContent = words.length ? `${shown} of ${rows.length} rows` : "";
}

function saveAddress() {
  const parameters = new URLSearchParams();
  if (search.value) parameters.set("q", search.value);
  if (sorted.column >= 0) parameters.set("sort", `${sorted.descending ? "-" : ""}${sorted.column}`);
  const query = parameters.toString();
  try {
    history.replaceState(null, "", `${location.pathname}${query && "?"}${query}${location.hash}`);
  } catch {
    // A browser refuses a new address for a page that was opened as a file.
  }
}

headers.forEach((header, column) => header.querySelector("button").addEventListener("click", () => {
  sort(column, sorted.column === column && !sorted.descending);
  saveAddress();
}));
search.addEventListener("input", () => { filter(); saveAddress(); });

const parameters = new URLSearchParams(location.search);
search.value = parameters.get("q") ?? "";
const order = parameters.get("sort") ?? "";
if (/^-?\d+$/.test(order) && Math.abs(Number(order)) < headers.length) sort(Math.abs(Number(order)), order.startsWith("-"));
filter();
