import { BUILT_IN_PLANS, type Plan } from '../core/plan.ts'
import { type PlanFileEntry, PlanFileError, readPlanFile } from './plan-file.ts'

/** The plans of this service: the three built-in ones, as changed and extended by the operator's plans file. */
export interface PlanBook {
  get(name: string): Plan
  find(name: string): Plan | undefined
  list(): readonly Plan[]
}

/** @param file the parsed content of the operator's plans file, undefined if there is none */
export function planBook(file?: unknown): PlanBook {
  const plans = new Map<string, Plan>(BUILT_IN_PLANS.map((plan) => [plan.name, plan]))
  const entries: readonly PlanFileEntry[] = file === undefined ? [] : readPlanFile(file)
  for (const entry of entries) {
    const { extends: parentName = entry.name, historyDays, ...values } = entry
    const parent = plans.get(parentName)
    if (parent === undefined) {
      throw new PlanFileError(
        `plans file: plan "${entry.name}" extends "${parentName}", which is none of ${[...plans.keys()].join(', ')}`,
      )
    }
    const { requestsPerSecond: perSecond } = values
    const perMinute =
      values.requestsPerMinute ?? (perSecond === undefined ? parent.requestsPerMinute : perSecond * 60)
    plans.set(entry.name, {
      ...parent,
      ...values,
      requestsPerMinute: perMinute,
      historyDays: { ...parent.historyDays, ...historyDays },
    })
  }
  return {
    find: (name) => plans.get(name),
    get: (name) => {
      const plan = plans.get(name)
      if (plan === undefined) throw new PlanFileError(`no plan is called "${name}"`)
      return plan
    },
    list: () => [...plans.values()],
  }
}
