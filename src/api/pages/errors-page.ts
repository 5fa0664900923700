import { ERRORS, type ErrorKind, publicCode } from '../../core/errors.ts'
import { HTML, madeOnce, type PublicPage } from '../../dashboard/pages/public-page.ts'
import { escapeHtml, framed } from './frame.ts'

/** The target of the `type` links in problem+json answers. */
export const errorsPage: PublicPage = {
  path: '/docs/errors',
  contentType: HTML,
  maxAgeSeconds: 3_600,
  read: madeOnce(() => {
    const rows = (Object.keys(ERRORS) as ErrorKind[]).map((kind) => {
      const code = publicCode(kind)
      const { status, title } = ERRORS[kind]
      return `<tr id="${code}"><td>${status}</td><td><code>${code}</code></td><td>${escapeHtml(title)}</td></tr>`
    })
    const content = `<h1>Errors</h1><p>How errors are written and handled is in the <a href="/guide/errors">guide</a>.</p>
<table><thead><tr><th>Status</th><th>Code</th><th>Meaning</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>`
    return framed({ title: 'Errors', current: '/docs/errors', content })
  }),
}
