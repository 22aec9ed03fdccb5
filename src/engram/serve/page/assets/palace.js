// Everything works without this file. It adds a key for the search box, and filters that apply themselves.

const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const field = document.querySelector("#q");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});

// On a narrow page the names of the pages scroll sideways: the one that is open is in sight.
const rail = document.querySelector(".side nav");
const open = rail?.querySelector("[aria-current]");
if (open) rail.scrollLeft = open.offsetLeft - (rail.clientWidth - open.offsetWidth) / 2;

for (const form of document.querySelectorAll("form[data-apply]")) {
  form.addEventListener("change", (event) => {
    if (event.target.matches("select, input[type=date]")) form.requestSubmit();
  });
  // What was not said does not stand in the address.
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (field.name && field.value === "") field.disabled = true;
  });
}

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "1";
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("[data-sent]")) delete form.dataset.sent;
});
