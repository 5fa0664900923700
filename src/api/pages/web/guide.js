// Adds the choice of a language, the search and the theme. The pages also work without this script.
const THEME = 'tapeline-theme'
const LANGUAGE = 'tapeline-language'

function applyTheme() {
  const stored = localStorage.getItem(THEME)
  const dark = stored === 'dark' || (stored !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}
applyTheme()
const theme = document.getElementById('theme')
theme.hidden = false
theme.addEventListener('click', () => {
  localStorage.setItem(THEME, document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark')
  applyTheme()
})

function choose(language) {
  for (const blocks of document.querySelectorAll('.blocks')) {
    const figures = [...blocks.querySelectorAll('figure')]
    const chosen = figures.find((figure) => figure.dataset.language === language) ?? figures[0]
    for (const figure of figures) figure.hidden = figure !== chosen
    for (const tab of blocks.querySelectorAll('[role="tab"]'))
      tab.setAttribute('aria-selected', String(tab.textContent === chosen.dataset.language))
  }
}

for (const blocks of document.querySelectorAll('.blocks')) {
  const tabs = document.createElement('div')
  tabs.className = 'tabs'
  tabs.setAttribute('role', 'tablist')
  for (const { dataset } of blocks.querySelectorAll('figure')) {
    const tab = document.createElement('button')
    tab.type = 'button'
    tab.setAttribute('role', 'tab')
    tab.textContent = dataset.language
    tab.addEventListener('click', () => {
      localStorage.setItem(LANGUAGE, dataset.language)
      choose(dataset.language)
    })
    tabs.append(tab)
  }
  blocks.prepend(tabs)
}
choose(localStorage.getItem(LANGUAGE) ?? 'Shell')

// Browsers provide the clipboard only to pages that were loaded over TLS.
const copied = navigator.clipboard === undefined ? [] : document.querySelectorAll('figure')
for (const figure of copied) {
  const copy = document.createElement('button')
  copy.type = 'button'
  copy.className = 'copy'
  copy.textContent = 'Copy'
  copy.addEventListener('click', async () => {
    await navigator.clipboard.writeText(figure.querySelector('code').textContent)
    copy.textContent = 'Copied'
    setTimeout(() => {
      copy.textContent = 'Copy'
    }, 1_600)
  })
  figure.append(copy)
}

const MAX_FOUND = 12
const search = document.getElementById('search')
const found = document.getElementById('found')
let sections
if (search !== null) {
  search.hidden = false
  const load = () => {
    sections ??= fetch('/guide/search.json')
      .then((response) => {
        if (!response.ok) throw new Error(`HTTP ${response.status}`)
        return response.json()
      })
      .catch(() => {
        // Loaded again with the next letter.
        sections = undefined
        return []
      })
    return sections
  }
  search.addEventListener('focus', load)
  search.addEventListener('input', async () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const all = words.length === 0 ? [] : await load()
    const has = (text) => words.every((word) => text.toLowerCase().includes(word))
    // Sections whose heading matches come first.
    const titled = all.filter(({ title }) => has(title))
    const others = all.filter(
      (section) => !titled.includes(section) && has(`${section.title} ${section.text}`),
    )
    found.replaceChildren(
      ...[...titled, ...others].slice(0, MAX_FOUND).map(({ path, title }) => {
        const item = document.createElement('li')
        const link = document.createElement('a')
        link.href = path
        link.textContent = title
        item.append(link)
        return item
      }),
    )
  })
}
