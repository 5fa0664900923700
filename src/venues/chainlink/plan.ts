import type { OraclePlan } from '../plan.ts'

export const chainlinkPlan: OraclePlan = { kind: 'oracle', source: 'oracle' }
