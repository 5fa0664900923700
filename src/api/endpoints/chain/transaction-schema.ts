import { Type } from 'typebox'
import { integerField, nullableField } from '../../../core/rows/fields.ts'

/** A signed transaction in the node's JSON form. `core/chain/transaction-json.ts` parses it strictly. */
const u64 = (description: string) =>
  Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]{1,20}$' })], {
    description: `${description} A number, or decimal text where a double would lose digits.`,
  })
const hex = (description: string) => Type.String({ pattern: '^[0-9a-fA-F]*$', description })
const id = (description: string) => Type.String({ pattern: '^[0-9a-fA-F]{64}$', description })

const Input = Type.Object({
  previousOutpoint: Type.Object({
    transactionId: id('Transaction whose output is spent.'),
    index: Type.Integer({ minimum: 0, maximum: 0xffff_ffff, description: 'Which of its outputs.' }),
  }),
  signatureScript: hex('The signature script, hex.'),
  sequence: u64('Sequence number.'),
  sigOpCount: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 255, description: 'Signature operations; version 0 only.' }),
  ),
  computeBudget: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 0xffff, description: 'Compute budget; version 1 only.' }),
  ),
})

const Output = Type.Object({
  value: u64('Amount in sompi.'),
  scriptPublicKey: Type.Union(
    [
      Type.String({ pattern: '^[0-9a-fA-F]{4,}$' }),
      Type.Object({ version: Type.Integer(), script: Type.String() }),
    ],
    { description: 'Four hex digits of version and the script; or an object of both.' },
  ),
  covenant: Type.Optional(
    nullableField(
      Type.Object({
        authorizingInput: integerField('Input that authorises it.'),
        covenantId: id('The covenant.'),
      }),
      'Covenant that the output is bound to; version 1 only.',
    ),
  ),
})

export const SignedTransaction = Type.Object(
  {
    version: Type.Integer({ minimum: 0, maximum: 1, description: 'Transaction version.' }),
    inputs: Type.Array(Input, { maxItems: 1_000, description: 'What is spent.' }),
    outputs: Type.Array(Output, { maxItems: 1_000, description: 'What is created.' }),
    lockTime: u64('Lock time.'),
    subnetworkId: Type.String({ pattern: '^[0-9a-fA-F]{40}$', description: 'The subnetwork.' }),
    gas: u64('Gas of the lane.'),
    payload: hex('Payload, hex.'),
    storageMass: Type.Optional(u64('Storage mass that the transaction commits to.')),
    mass: Type.Optional(u64('The older name of storageMass.')),
  },
  { description: 'The signed transaction, in the form that the node takes.' },
)
