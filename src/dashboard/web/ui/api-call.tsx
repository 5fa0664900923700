import { useState } from 'preact/hooks'
import { plural } from '../format.ts'
import { useSession } from '../session.ts'
import { LANGUAGES, partsOf, snippet } from '../snippets.ts'
import { CopyButton } from './copy.tsx'
import { Button } from './parts.tsx'

/** Paths with an identifier that pages of the dashboard show. */
const TEMPLATES = [
  '/v1/markets/{identifier}',
  '/v1/webhooks/{id}',
  '/v1/webhooks/{id}/deliveries',
  '/v1/webhooks/{id}/replay',
]
const LISTS =
  /^\/v1\/(candles|funding|snapshots|markets|trades|flow|webhooks|webhooks\/\w+\/deliveries)(\?|$)/
const KEPT_MS = 60_000
const FORMATS = ['csv', 'ndjson'] as const

/** The call behind a view, to copy as a program or to save as a file, with its cost. */
export function ApiCall({
  path,
  price,
  method = 'GET',
  body,
}: {
  path: string
  price: number | undefined
  method?: string
  body?: object
}) {
  const isList = method === 'GET' && LISTS.test(path)
  const parts = partsOf(path, TEMPLATES, { method, isList, ...(body === undefined ? {} : { body }) })
  return (
    <div class="api-call">
      <code>
        <b>{method}</b> {path} {body === undefined ? '' : JSON.stringify(body)}
      </code>
      {price !== undefined && <span class="price">{plural(price, 'credit')}</span>}
      {LANGUAGES.map((language) => (
        <CopyButton
          key={language}
          text={snippet(language, parts, location.origin)}
          label={`Copy ${language}`}
        />
      ))}
      {isList && FORMATS.map((format) => <Download key={format} path={path} format={format} />)}
    </div>
  )
}

/** Saves the rows shown as a file, in the format that the service writes. */
function Download({ path, format }: { path: string; format: (typeof FORMATS)[number] }) {
  const { environment } = useSession()
  const [problem, setProblem] = useState(false)
  const save = async () => {
    const target = `/dashboard/api/view/${environment}${path}${path.includes('?') ? '&' : '?'}format=${format}`
    const response = await fetch(target, { credentials: 'same-origin' }).catch(() => undefined)
    setProblem(!response?.ok)
    if (!response?.ok) return
    const link = document.createElement('a')
    link.href = URL.createObjectURL(await response.blob())
    link.download = `${path.replace(/^\/v1\//, '').replaceAll(/[^\w.=-]+/g, '_')}.${format}`
    link.click()
    // The browser reads the blob after the click.
    setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS)
  }
  return (
    <Button look="small" onClick={save}>
      {problem ? 'Not possible now' : format.toUpperCase()}
    </Button>
  )
}
