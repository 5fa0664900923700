/** Light, dark, or following the system. */
export type Theme = 'system' | 'light' | 'dark'
const NAME = 'tapeline-theme'

function currentTheme(): Theme {
  const stored = localStorage.getItem(NAME)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

export function applyTheme(theme: Theme = currentTheme()): void {
  if (theme === 'system') localStorage.removeItem(NAME)
  else localStorage.setItem(NAME, theme)
  const dark = theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
  dispatchEvent(new Event('themechange'))
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => applyTheme())

/** A colour of the style sheet, for drawing on a canvas. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
