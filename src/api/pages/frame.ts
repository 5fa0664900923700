/** The frame around the content of every page. */
export const GUIDE_STYLE_PATH = '/guide/guide.css'
export const GUIDE_SCRIPT_PATH = '/guide/guide.js'

export function framed(page: { title: string; current: string; side?: string; content: string }): string {
  const links = [
    ['/guide', 'Guide'],
    ['/docs', 'API reference'],
    ['/', 'Dashboard'],
  ].map(
    ([path, name]) => `<a href="${path}"${path === page.current ? ' aria-current="page"' : ''}>${name}</a>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(page.title)} · Tapeline</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${GUIDE_STYLE_PATH}">
<script src="${GUIDE_SCRIPT_PATH}" defer></script>
</head>
<body>
<header class="top"><a class="brand" href="/guide"><img src="/favicon.svg" alt="" width="28" height="28">Tapeline</a>
<nav aria-label="Main">${links.join('')}</nav><button type="button" id="theme" hidden>Theme</button></header>
${page.side === undefined ? '' : `<aside>${page.side}</aside>`}
<main>${page.content}</main>
</body>
</html>
`
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
