import { plural } from '../format.ts'
import { CopyButton } from './copy.tsx'

/** The call behind a view, ready to copy, and what it costs. */
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
  const verb = method === 'GET' ? '' : ` -X ${method}`
  const text = body === undefined ? '' : JSON.stringify(body)
  const data = text === '' ? '' : ` -H "Content-Type: application/json" -d '${text}'`
  const curl = `curl${verb} -H "X-API-Key: $KEY"${data} "${location.origin}${path}"`
  return (
    <div class="api-call">
      <code>
        <b>{method}</b> {path} {text}
      </code>
      {price !== undefined && <span class="price">{plural(price, 'credit')}</span>}
      <CopyButton text={curl} label="Copy curl" />
    </div>
  )
}
