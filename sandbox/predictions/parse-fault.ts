import { faultParser } from '../control/parse-fault.ts'
import { FAULT_KINDS, type FaultKind, VENUES } from './server/faults.ts'

export const parseFault = faultParser({
  kinds: Object.keys(FAULT_KINDS) as FaultKind[],
  venues: VENUES,
  numbers: ['provider', 'durationMs', 'count', 'delayMs', 'offsetMs', 'status', 'retryAfterS'] as const,
})
