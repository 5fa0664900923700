/**
 * HTML that is built on the server. Everything inserted into a template is escaped, unless it is such a template
 * itself.
 */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | readonly Html[] | undefined

export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: texts }, ...parts.map(textOf)))
}

function textOf(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (Array.isArray(part)) return part.map(({ text }: Html) => text).join('')
  return String(part).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

/**
 * The frame of a public page: no scripts, nothing inline, nothing from other origins. With `againAfterSeconds`, the
 * browser reloads the page by itself.
 */
export function pageFrame(page: {
  title: string
  here: string
  links: readonly Link[]
  body: Html
  againAfterSeconds?: number | undefined
}): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title}: Tapeline</title>
<link rel="stylesheet" href="${STYLE_PATH}">
<link rel="icon" href="/favicon.svg">
${page.againAfterSeconds === undefined ? undefined : html`<meta http-equiv="refresh" content="${page.againAfterSeconds}">`}
</head>
<body>
<header>
<a class="brand" href="/"><img src="/favicon.svg" alt="" width="28" height="28">Tapeline</a>
<nav aria-label="Main">${page.links.map(({ path, name }) =>
    path === page.here
      ? html`<a href="${path}" aria-current="page">${name}</a>`
      : html`<a href="${path}">${name}</a>`,
  )}</nav>
</header>
<main>${page.body}</main>
</body>
</html>
`.text
}

export interface Link {
  readonly path: string
  readonly name: string
}

export const STYLE_PATH = '/pages.css'
