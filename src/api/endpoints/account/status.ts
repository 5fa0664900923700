import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { endpoint } from '../services.ts'

const nullable = (schema: ReturnType<typeof Type.Number | typeof Type.String>, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const Status = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('degraded'), Type.Literal('down')], {
    description: 'ok; degraded when some part is stale or down; down when nothing works.',
  }),
  environment: Type.Union([Type.Literal('test'), Type.Literal('live')], {
    description: 'The environment that the key reads.',
  }),
  ingestion: Type.Array(
    Type.Object({
      source: Type.String({ description: 'Source that is recorded.' }),
      status: Type.Union([Type.Literal('healthy'), Type.Literal('stale'), Type.Literal('down')], {
        description: 'Whether data arrives as it should.',
      }),
      last_event_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
        description: 'Time of the newest recorded event.',
      }),
      lag_seconds: nullable(Type.Number(), 'Seconds since then.'),
      rows_inserted: Type.Integer({ description: 'Rows written since the process started.' }),
      gaps_24h: Type.Integer({ description: 'Holes recorded in the last 24 hours.' }),
      backfill: nullable(
        Type.Number({ minimum: 0, maximum: 1 }),
        'Share of the first fill with history that is done; null where there is none.',
      ),
      notice: nullable(
        Type.String(),
        'What the operator should know, such as missing credentials; null where there is nothing.',
      ),
      coverage: Type.Array(
        Type.Object({
          dataset: Type.String({
            description: 'What is recorded: candles, trades, snapshots (order books), …',
          }),
          interval: nullable(Type.String(), 'Its finest interval; null where it has none.'),
          from: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
            description: 'First observed instant of any symbol; null before the first record.',
          }),
          to: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
            description: 'Last observed instant of any symbol; null before the first record.',
          }),
        }),
        { description: 'One record per dataset of the source.' },
      ),
    }),
    { description: 'One record per recorded source.' },
  ),
  nodes: Type.Array(
    Type.Object({
      name: Type.String({ description: 'Name of the node.' }),
      state: Type.String({ description: 'State of the node in the pool.' }),
      synced: Type.Boolean({ description: 'Whether the node is in step with its network.' }),
      daa_score: nullable(Type.Number(), 'Its virtual DAA score.'),
      lag: nullable(Type.Number(), 'How far it is behind the best node, in DAA score.'),
    }),
    { description: 'The upstream nodes.' },
  ),
  index: Type.Object({
    state: Type.Union([Type.Literal('running'), Type.Literal('restarting'), Type.Literal('off')], {
      description:
        'Whether the chain is indexed; restarting while what does it is started again, off where there is no node.',
    }),
    restarts: Type.Integer({ description: 'How often it had to be started again.' }),
    coverage_from: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'From when on every transaction is indexed; null before the first start.',
    }),
    gaps_24h: Type.Integer({ description: 'Holes recorded in the last 24 hours, counted up to 1,000.' }),
    gaps: Type.Array(
      Type.Object({
        recorded_at: Type.String({ format: 'date-time', description: 'When it was noticed.' }),
        from: Type.String({ format: 'date-time', description: 'Time of the last block before it.' }),
        to: Type.String({ format: 'date-time', description: 'Time of the first block after it.' }),
        reason: Type.String({
          description:
            'pruned: the nodes no longer had that part of the chain. blocks_pruned: blocks in between were not told, the chain is whole. unreadable: transactions of that block are in a form that is not known.',
        }),
      }),
      { description: 'The newest ten holes, oldest first.' },
    ),
  }),
  webhooks: Type.Object({
    pending: Type.Integer({ description: 'Deliveries that wait.' }),
    oldest_pending_seconds: Type.Number({ description: 'Age of the oldest of them.' }),
  }),
  notice: nullable(
    Type.String(),
    'That no venue is recorded or no node is connected here, and which setting changes that; null otherwise.',
  ),
})

export const status = endpoint({
  path: 'GET /v1/status',
  doc: {
    tag: 'account',
    summary: 'State of the recorders, the nodes and the deliveries',
  },
  cost: noCredits,
  returns: object('Status', Status),
  run: async ({ services }) => ({ kind: 'object', value: await services.status() }),
})
