import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { wrappedList } from '../../../contract/endpoint.ts'
import { previewAnswer, wrappedPage } from '../../../contract/envelopes.ts'
import { cursorPage } from '../../../contract/params.ts'
import { ApiError } from '../../../core/errors.ts'
import {
  flagField,
  integerField,
  nullableIntegerField,
  nullableTextField,
  nullableTimeField,
  textField,
  timeField,
} from '../../../core/rows/fields.ts'
import type { CovenantStep } from '../../../store/covenants.ts'
import { otherCursor } from '../other-cursor.ts'
import { endpoint } from '../services.ts'
import { covenantIdParam } from './covenant-items.ts'
import { nodeTime } from './node-time.ts'
import { SignedField } from './parsed-schema.ts'

const KCC20 =
  'State of a KCC-20 token that the spending program has revealed; null where it has none. States of outputs that are not spent are hidden.'

const CovenantStepSchema = Type.Object({
  tx_id: textField('The transaction.'),
  block_time: timeField('Time of the block that carries it.'),
  kind: textField('genesis, continuation, or burn (no output goes on with it).'),
  program: nullableTextField(
    'What the revealed programs are: kcc20 or kcc0020 (a token), silverscript (a compiled contract, by its frame), unknown; null where none was revealed.',
  ),
  spent: Type.Array(
    Type.Object({
      input: integerField('Which input of the transaction.'),
      tx_id: textField('Transaction that created the spent output.'),
      index: integerField('Which of its outputs.'),
      amount_sompi: nullableIntegerField('Amount in sompi.'),
      address: nullableTextField('Address of its script.'),
      signed: SignedField,
      program_hash: nullableTextField('Hash of its program; null where it was not paid to a script hash.'),
      token: Type.Union(
        [
          Type.Object({
            owner: textField('Key, script hash or covenant id, as hex.'),
            owner_type: textField('pubkey, script_hash, covenant or presence.'),
            amount: integerField('In the smallest unit of the token.'),
            is_minter: Type.Union([flagField('Whether it may mint.'), Type.Null()], {
              description: 'Whether it may mint; null where its form does not say.',
            }),
          }),
          Type.Null(),
        ],
        { description: KCC20 },
      ),
    }),
    { description: 'Outputs of the covenant that it spent.' },
  ),
  created: Type.Array(
    Type.Object({
      index: integerField('Which output of the transaction.'),
      amount_sompi: integerField('Amount in sompi.'),
      address: nullableTextField('Address of its script.'),
      program_hash: nullableTextField('Hash of its program, which is hidden until it is spent.'),
    }),
    { description: 'Outputs that it bound to the covenant.' },
  ),
})

const Covenant = Type.Object({
  covenant_id: textField('The covenant asked for.'),
  genesis: nullableTextField(
    'Transaction that founded it; null where that was before the index began or is no longer stored.',
  ),
  program: nullableTextField(
    'As the newest revealed program shows it: kcc20, kcc0020, silverscript or unknown.',
  ),
  is_burnt: flagField('Whether the newest step left no output.'),
  items: Type.Array(CovenantStepSchema, {
    description: 'Its lineage: every accepted transaction that created or spent it, newest first.',
  }),
  next_cursor: nullableTextField('Pass it as `cursor` to get the next page; null on the last.'),
  coverage_from: nullableTimeField('From when on every transaction is indexed: after the last gap.'),
  credits_used: integerField('Credits that this answer cost.'),
})

const cost = base(10).perRow(1)

export const covenant = endpoint({
  path: 'GET /v1/covenants/{covenant_id}',
  doc: {
    tag: 'node',
    summary: 'A covenant and its lineage',
    description:
      'Accepted transactions only, in the order of acceptance; one whose block leaves the chain leaves the lineage with it. What a program is follows from what a spend reveals: a form that is not known is `unknown`, and what is hidden until it is spent is null.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: { covenant_id: covenantIdParam, ...cursorPage('Steps per page.', { default: 50, max: 200 }) },
  cost,
  returns: wrappedList('CovenantStep', CovenantStepSchema, {
    name: 'Covenant',
    schema: Covenant,
    cursor: 'cursor',
  }),
  errors: ['not_found'],
  run: async ({ input, services, rowLimit, dryRun }) => {
    const { index, cursors } = services.chain
    const { covenant_id: covenantId, cursor } = input
    const binding = `/v1/covenants/${covenantId}`
    const before = cursor === undefined ? undefined : readCursor(cursors.decode(binding, cursor))
    const first = await index.firstCovenantStep(covenantId)
    if (first === undefined) throw notFound(covenantId)
    const query = { covenantId, limit: rowLimit }
    const page = await index.covenantSteps({ ...query, ...(before === undefined ? {} : { before }) })
    if (dryRun) return previewAnswer(page.steps.length, false)
    const newest =
      before === undefined
        ? page.steps
        : (await index.covenantSteps({ covenantId, limit: NEWEST_STEPS })).steps
    const last = page.steps.at(-1)
    const next = page.hasMore && last !== undefined ? cursors.encode(binding, [last.rank]) : null
    const genesis = partsOf(first).kind === 'genesis' ? first.txId : null
    const coverageFrom = nodeTime((await index.coverageFromMs()) ?? null)
    const head = [
      `{"covenant_id":"${covenantId}","genesis":${JSON.stringify(genesis)}`,
      `"program":${JSON.stringify(programOf(newest))}`,
      `"is_burnt":${newest[0] !== undefined && partsOf(newest[0]).kind === 'burn'}`,
      '"items":[',
    ]
    const tail = [
      `],"next_cursor":${JSON.stringify(next)}`,
      `"coverage_from":${JSON.stringify(coverageFrom)}`,
      `"credits_used":${cost.charge({ row: page.steps.length })}}`,
    ]
    return wrappedPage({
      rows: page.steps.map(stepText),
      head: head.join(','),
      tail: tail.join(','),
      hasMore: page.hasMore,
      nextCursor: next,
    })
  },
})

/** How many of the newest steps are searched for a revealed program. */
const NEWEST_STEPS = 10

function partsOf({ text }: CovenantStep): { kind: string; program: string | null } {
  return JSON.parse(text) as { kind: string; program: string | null }
}

function programOf(newest: readonly CovenantStep[]): string | null {
  for (const step of newest.slice(0, NEWEST_STEPS)) {
    const { program } = partsOf(step)
    if (program !== null) return program
  }
  return null
}

function stepText({ txId, timeMs, text }: CovenantStep): string {
  return `{"tx_id":"${txId}","block_time":${JSON.stringify(nodeTime(timeMs))},${text.slice(1)}`
}

export function notFound(covenantId: string): ApiError {
  return new ApiError(
    'not_found',
    `Covenant ${covenantId} is not in the index. The index knows what was accepted since it was started.`,
  )
}

function readCursor(place: readonly (string | number | null)[] | undefined): number {
  const [rank] = place ?? []
  if (typeof rank === 'number') return rank
  throw otherCursor('this path')
}
