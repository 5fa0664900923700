import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { ERRORS, type ErrorKind, publicCode } from '../../core/errors.ts'
import { CSS, HTML, type PublicPage } from '../../dashboard/pages/public-page.ts'

const MAX_AGE_SECONDS = 3_600

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

/** The viewer of the reference: an installed package contains it, a checkout has the package that it comes from. */
export const VIEWER_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']
const SHIPPED = join(import.meta.dirname, '..', '..', '..', 'swagger-ui')

export function viewerFolder(): string {
  if (existsSync(SHIPPED)) return SHIPPED
  return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
}

/** The API reference: Swagger UI from its npm package, so that it works offline. */
export function docsPages(): PublicPage[] {
  const folder = viewerFolder()
  const page = (path: string, contentType: string, read: PublicPage['read']): PublicPage => ({
    path,
    contentType,
    maxAgeSeconds: MAX_AGE_SECONDS,
    read,
  })
  // Read when it is requested, which is rare: it is large.
  const asset = (name: string, as: string, contentType: string) =>
    page(`/docs/${as}`, contentType, () => readFileSync(join(folder, name)))
  const script = 'text/javascript; charset=utf-8'
  return [
    page('/docs', HTML, () => PAGE),
    page('/docs/start.js', script, () => START),
    page('/docs/errors.css', CSS, () => ERRORS_STYLE),
    page('/docs/errors', HTML, errorsPage),
    asset('swagger-ui.css', 'swagger-ui.css', CSS),
    asset('swagger-ui-bundle.js', 'swagger-ui-bundle.js', script),
    asset('favicon-32x32.png', 'favicon.png', 'image/png'),
  ]
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
