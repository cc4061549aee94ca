"use strict";
// The script of a flame graph asks for what to search with a dialog, and keeps its state in its address. A frame without an
// origin may do neither, so it gets a field, and keeps no state.
history.replaceState = () => {};
const field = document.getElementById("find");
const reset = window.search_prompt;
window.search_prompt = () => {
  if (window.searching) reset();
  field.value = "";
  field.focus();
};
field.addEventListener("input", () => {
  if (window.searching) reset();
  try {
    if (field.value !== "") window.search(field.value);
  } catch {
    // The pattern is not yet complete.
  }
});
