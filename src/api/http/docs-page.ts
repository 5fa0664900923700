import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { ERRORS, type ErrorKind, publicCode } from '../../core/errors.ts'
import type { GateReply } from '../../gate/request.ts'

/** The API reference: Swagger UI from its npm package, so that it works offline. */
export interface DocsFile {
  path: string
  contentType: string
  /** Read when it is requested, which is rare: it is large. */
  read: () => string | Buffer
}

/** No inline code and nothing from other origins; Swagger UI has its icons in data URLs. */
const DOCS_CSP =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tapeline API reference</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="/docs/favicon.png">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const START = `window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  filter: true,
  tryItOutEnabled: true,
  persistAuthorization: true,
  displayRequestDuration: true,
  validatorUrl: null,
})
`

const ERRORS_STYLE = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:50rem;padding:0 1rem}
td{padding:.3rem .8rem .3rem 0;vertical-align:top}
:target{background:light-dark(#fff3b0,#4a3d00)}
`

export function docsFiles(): DocsFile[] {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  const asset = (name: string, as: string, contentType: string): DocsFile => ({
    path: `/docs/${as}`,
    contentType,
    read: () => readFileSync(join(folder, name)),
  })
  const html = 'text/html; charset=utf-8'
  const script = 'text/javascript; charset=utf-8'
  return [
    { path: '/docs', contentType: html, read: () => PAGE },
    { path: '/docs/start.js', contentType: script, read: () => START },
    { path: '/docs/errors.css', contentType: 'text/css; charset=utf-8', read: () => ERRORS_STYLE },
    { path: '/docs/errors', contentType: html, read: errorsPage },
    asset('swagger-ui.css', 'swagger-ui.css', 'text/css; charset=utf-8'),
    asset('swagger-ui-bundle.js', 'swagger-ui-bundle.js', script),
    asset('favicon-32x32.png', 'favicon.png', 'image/png'),
  ]
}

export function docsReply({ contentType, read }: DocsFile): GateReply {
  const headers = [
    'Content-Type',
    contentType,
    'Content-Security-Policy',
    DOCS_CSP,
    'Cache-Control',
    'public, max-age=3600',
  ]
  return { status: 200, headers, body: read() }
}

/** Target of the `type` links in problem+json answers. */
function errorsPage(): string {
  const kinds = Object.keys(ERRORS) as ErrorKind[]
  const rows = kinds.map((kind) => {
    const code = publicCode(kind)
    const { status, title } = ERRORS[kind]
    return `<tr id="${code}"><td>${status}</td><td><code>${code}</code></td><td>${title}</td></tr>`
  })
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tapeline errors</title>
<link rel="stylesheet" href="/docs/errors.css">
<link rel="icon" href="/docs/favicon.png">
</head>
<body><h1>Errors</h1><table>${rows.join('\n')}</table></body>
</html>
`
}
