import { type TSchema, Type } from 'typebox'
import { flat } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { flag } from '../../../contract/params.ts'
import { flagField, integerField, numberField, textField } from '../../../core/rows/fields.ts'
import { endpoint } from '../services.ts'
import { unusableAnswer, upstreamError } from './upstream-error.ts'

const GUIDANCE =
  'The fee is feerate × mass, in sompi, and must be set before signing: sum(inputs) − sum(outputs) has to reach it. Mass is the largest of compute mass, half the transient mass and storage mass. Nothing can raise the priority of a signed transaction but a replacement with a higher fee.'

const bucket = (description: string) =>
  Type.Object(
    {
      feerate: numberField('Sompi per gram of mass.'),
      estimated_seconds: numberField('Time until it is in a block.'),
    },
    { description },
  )
const buckets = (description: string): TSchema => Type.Array(bucket('One step.'), { description })

const FeeEstimate = Type.Object({
  network: textField('Network of the estimate.'),
  priority: bucket('For the next block.'),
  normal: buckets('For inclusion within about a minute.'),
  low: buckets('For inclusion within about an hour.'),
  experimental: flagField('Whether the experimental estimator was used.'),
  credits_used: integerField('Credits that this answer cost.'),
  guidance: textField('How to use it.'),
})

interface NodeBucket {
  readonly feerate: number
  readonly estimatedSeconds: number
}
interface NodeEstimate {
  readonly priorityBucket: NodeBucket
  readonly normalBuckets: readonly NodeBucket[]
  readonly lowBuckets: readonly NodeBucket[]
}

const cost = flat(1)

export const feesEstimate = endpoint({
  path: 'GET /v1/fees/estimate',
  doc: {
    tag: 'node',
    summary: 'Fee rates by urgency',
  },
  access: { scope: 'node' },
  params: { experimental: flag('Use the experimental estimator of the node.') },
  cost,
  returns: object('FeeEstimate', FeeEstimate),
  errors: ['upstream_error', 'upstream_unavailable', 'upstream_timeout'],
  run: async ({ input, services, dryRun }) => {
    const experimental = input.experimental === true
    if (dryRun) return { kind: 'object', value: {} }
    const { upstreams } = services.chain
    const outcome = experimental
      ? await upstreams.call('getFeeEstimateExperimental', { verbose: false })
      : await upstreams.call('getFeeEstimate', {})
    if (!outcome.ok) throw upstreamError(outcome.failure)
    const estimate = membersOf(outcome.value).estimate
    if (!isEstimate(estimate)) throw unusableAnswer(outcome.node, 'fee estimate')
    return {
      kind: 'object',
      value: {
        network: upstreams.network,
        priority: shown(estimate.priorityBucket),
        normal: estimate.normalBuckets.map(shown),
        low: estimate.lowBuckets.map(shown),
        experimental,
        credits_used: cost.charge({}),
        guidance: GUIDANCE,
      },
    }
  },
})

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function isBucket(value: unknown): value is NodeBucket {
  const { feerate, estimatedSeconds } = membersOf(value)
  return typeof feerate === 'number' && typeof estimatedSeconds === 'number'
}

function isEstimate(value: unknown): value is NodeEstimate {
  const { priorityBucket, normalBuckets, lowBuckets } = membersOf(value)
  return (
    isBucket(priorityBucket) &&
    [normalBuckets, lowBuckets].every((list) => Array.isArray(list) && list.every(isBucket))
  )
}

function shown({ feerate, estimatedSeconds }: NodeBucket) {
  return { feerate, estimated_seconds: estimatedSeconds }
}
