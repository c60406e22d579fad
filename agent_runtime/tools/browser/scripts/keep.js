// Puts entries into what the frame's origin keeps.
(entries) => {
  for (const { name, value } of entries) localStorage.setItem(name, value)
}
