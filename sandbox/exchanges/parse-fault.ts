import { faultParser } from '../control/parse-fault.ts'
import { FAULT_KINDS, type FaultKind } from './server/faults.ts'
import { VENUES } from './world/markets.ts'

export const parseFault = faultParser({
  kinds: Object.keys(FAULT_KINDS) as FaultKind[],
  venues: VENUES,
  numbers: ['durationMs', 'count', 'delayMs', 'offsetMs', 'retryAfterS', 'status'] as const,
})
