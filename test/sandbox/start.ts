/** The simulated venues with the truth about them, for tests. */
import {
  type SandboxExchanges,
  type SandboxOptions,
  startSandboxExchanges,
} from '../../sandbox/exchanges/run.ts'
import {
  type SandboxPredictions,
  type SandboxPredictionsOptions,
  startSandboxPredictions,
} from '../../sandbox/predictions/run.ts'
import { createExchangeTruth, type ExchangeTruth } from './exchange-truth.ts'
import { createPredictionTruth, type PredictionTruth } from './prediction-truth.ts'

export interface TestExchanges extends SandboxExchanges {
  readonly truth: ExchangeTruth
}
export interface TestPredictions extends SandboxPredictions {
  readonly truth: PredictionTruth
}

export async function startTestExchanges(options: SandboxOptions): Promise<TestExchanges> {
  const sandbox = await startSandboxExchanges(options)
  return { ...sandbox, truth: createExchangeTruth(sandbox.world) }
}

export async function startTestPredictions(options: SandboxPredictionsOptions): Promise<TestPredictions> {
  const sandbox = await startSandboxPredictions(options)
  return { ...sandbox, truth: createPredictionTruth(sandbox.world) }
}
