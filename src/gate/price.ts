import type { EndpointAnswer } from '../contract/endpoint.ts'
import type { ServedRequest, Task } from './task.ts'

/** Only a successful answer has a price. */
export function priceOf<Services>(task: ServedRequest<Services>, answer: EndpointAnswer): number {
  if (answer.kind !== 'list' && ![undefined, 200, 201].includes(answer.status)) return 0
  const units = answer.kind === 'list' ? { row: answer.count } : (answer.units ?? {})
  return task.route.endpoint.cost.charge(units, task.input)
}

export function isFailure(answer: EndpointAnswer): boolean {
  return answer.kind !== 'list' && (answer.status ?? 200) >= 400
}

export function rowsOf(answer: EndpointAnswer): number {
  return answer.kind === 'list' ? answer.count : (answer.units?.row ?? 0)
}

export function askedRows(input: Readonly<Record<string, unknown>>): number {
  return typeof input.limit === 'number' ? input.limit : Number.POSITIVE_INFINITY
}

/** The number of rows that the caller and the plan allow. */
export function cappedRows<Services>(task: Task<Services>): number {
  const most = Math.min(task.credential.plan.maxRowsPerRequest, task.maxRows ?? Number.POSITIVE_INFINITY)
  return Math.min(askedRows(task.input), most)
}
