import { count } from '../format.ts'
import { CopyButton } from './copy.tsx'

/** The call behind a view, ready to copy, and what it costs. */
export function ApiCall({
  path,
  price,
  method = 'GET',
}: {
  path: string
  price: number | undefined
  method?: string
}) {
  const verb = method === 'GET' ? '' : ` -X ${method}`
  const curl = `curl${verb} -H "X-API-Key: $KEY" "${location.origin}${path}"`
  return (
    <div class="api-call">
      <code>
        <b>{method}</b> {path}
      </code>
      {price !== undefined && <span class="price">{count(price)} credits</span>}
      <CopyButton text={curl} label="Copy curl" />
    </div>
  )
}
