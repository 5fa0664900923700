import type { Credential } from '../accounts/key-ring.ts'
import type { EndpointAnswer, ListAnswer } from '../contract/endpoint.ts'
import { Lru } from '../kit/lru.ts'
import { type Rendered, renderStored } from './render.ts'
import type { EncodedForms, GateRequest } from './request.ts'
import type { Task } from './task.ts'

/**
 * Sealed pages as the bytes that are sent: rendered once, compressed once per encoding.
 *
 * A page is found by the text of its request, the plan and the environment. It is served while the epochs of its feeds
 * are those it was read with, which the answer itself compares (`isCurrent`). Key, rate and balance are checked and the
 * price is charged for every request; only reading, validating and running are saved.
 *
 *   first request: marked as seen ──▶ second: stored ──▶ served until an epoch changes or memory runs out
 *
 * Most pages are read once and therefore never stored.
 */
export interface PageCache<Services> {
  find(request: GateRequest, credential: Credential): CachedPage<Services> | undefined
  /** Stores a page that was requested before, and returns it as it is sent; undefined if it is not stored. */
  store(task: Task<Services>, answer: EndpointAnswer): Rendered | Promise<Rendered> | undefined
}

export interface CachedPage<Services> {
  readonly input: Task<Services>['input']
  /** Its rows are omitted, because they are in the rendered page. */
  readonly answer: ListAnswer
  readonly rendered: Rendered
  isCurrent(nowMs: number): boolean | Promise<boolean>
  /** How much of the memory limit it uses. */
  readonly bytes: number
}

const MAX_ENTRIES = 20_000
const MAX_NAME_CHARS = 2_000
/** In addition to the bytes of a page: its name, its headers, the objects around them. */
const ENTRY_BYTES = 1_024

export function createPageCache<Services>(maxBytes: number): PageCache<Services> {
  const entries = new Lru<string, CachedPage<Services> | 'seen'>({
    maxEntries: MAX_ENTRIES,
    maxWeight: maxBytes,
    weigh: (entry) => (entry === 'seen' ? 0 : entry.bytes),
  })

  /** Adds a page; its compressed forms count towards the memory limit as they are added. */
  function addPage(name: string, page: Omit<CachedPage<Services>, 'bytes'>): Rendered {
    const forms = new Map<string, Buffer>()
    const encoded: EncodedForms = {
      get: (encoding) => forms.get(encoding),
      set(encoding, form) {
        forms.set(encoding, form)
        entry.bytes += form.length
        if (entries.get(name) === entry) entries.set(name, entry)
      },
    }
    const rendered = { ...page.rendered, encoded }
    const entry = { ...page, rendered, bytes: ENTRY_BYTES + rendered.body.length }
    entries.set(name, entry)
    return rendered
  }

  return {
    find(request, credential) {
      if (request.method !== 'GET' || request.search === '') return undefined
      const entry = entries.get(nameOf(request, credential))
      return entry === 'seen' ? undefined : entry
    },
    store({ request, credential, input, format, route }, answer) {
      if (answer.kind !== 'list' || answer.isCurrent === undefined || request.method !== 'GET')
        return undefined
      const name = nameOf(request, credential)
      // A key in the query would become part of the name.
      if (name.length > MAX_NAME_CHARS || /api[-_]key/.test(request.search)) return undefined
      if (entries.get(name) === undefined) {
        entries.set(name, 'seen')
        return undefined
      }
      const { isCurrent } = answer
      const add = (rendered: Rendered) =>
        addPage(name, { input, answer: { ...answer, rows: '' }, rendered, isCurrent })
      const rendered = renderStored(answer, format, route.endpoint.returns)
      return rendered instanceof Promise ? rendered.then(add) : add(rendered)
    },
  }
}

function nameOf({ path, search, headers }: GateRequest, { environment, plan }: Credential): string {
  return `${environment} ${plan.name} ${headers.accept ?? ''} ${path}?${search}`
}
