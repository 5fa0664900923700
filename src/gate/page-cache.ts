import type { Credential } from '../accounts/key-ring.ts'
import type { ListAnswer } from '../contract/endpoint.ts'
import { sizeOfRows } from '../contract/envelopes.ts'
import { Lru } from '../kit/lru.ts'
import type { GateRequest } from './request.ts'
import type { Task } from './task.ts'

/**
 * The short way for pages that cannot change: the same request under the same plan gets the same answer
 * without being read, admitted and run again, as long as the answer itself says that it is current. Key,
 * rate and balance are checked and the price is taken as always.
 */
export interface PageCache<Services> {
  find(request: GateRequest, credential: Credential, nowMs: number): CachedPage<Services> | undefined
  keep(task: Task<Services>, answer: ListAnswer, rowLimit: number): void
}

export interface CachedPage<Services> {
  readonly input: Task<Services>['input']
  readonly given: Task<Services>['given']
  readonly format: Task<Services>['format']
  readonly answer: ListAnswer
  readonly rowLimit: number
}

const MAX_ENTRIES = 10_000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_NAME = 2_000

export function createPageCache<Services>(): PageCache<Services> {
  const kept = new Lru<string, CachedPage<Services>>({
    maxEntries: MAX_ENTRIES,
    maxWeight: MAX_BYTES,
    weigh: ({ answer }) => sizeOfRows(answer),
  })
  return {
    find(request, credential, nowMs) {
      if (request.method !== 'GET' || request.search === '') return undefined
      const found = kept.get(nameOf(request, credential))
      return found?.answer.isCurrent?.(nowMs) ? found : undefined
    },
    keep(task, answer, rowLimit) {
      const { request, credential, input, given, format } = task
      if (answer.isCurrent === undefined || request.method !== 'GET') return
      const name = nameOf(request, credential)
      // A key in the query would be kept with the name.
      if (name.length > MAX_NAME || /api[-_]key/.test(request.search)) return
      kept.set(name, { input, given, format, answer, rowLimit })
    },
  }
}

function nameOf({ path, search, headers }: GateRequest, { environment, plan }: Credential): string {
  return `${environment} ${plan.name} ${headers.accept ?? ''} ${path}?${search}`
}
