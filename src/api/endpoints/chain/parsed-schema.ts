import { Type } from 'typebox'

const orNull = (type: 'string' | 'integer', description: string) =>
  Type.Union([type === 'string' ? Type.String() : Type.Integer(), Type.Null()], { description })

/** A transaction as the parser shows it. */
export const ParsedTransactionSchema = Type.Object(
  {
    tx_id: Type.String({ description: 'Transaction id.' }),
    inputs: Type.Array(
      Type.Object({
        tx_id: Type.String({ description: 'Transaction whose output is spent.' }),
        index: Type.Integer({ description: 'Which of its outputs.' }),
        address: orNull('string', 'Who spends it; null while unknown.'),
        amount_sompi: orNull('integer', 'How much; null while unknown.'),
      }),
      { description: 'What is spent.' },
    ),
    outputs: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'Place of the output.' }),
        amount_sompi: Type.Integer({ description: 'Amount in sompi.' }),
        address: orNull('string', 'Who receives it; null for a script without an address.'),
        script_public_key: Type.String({ description: 'Four hex digits of version, then the script.' }),
        script_class: Type.String({ description: 'pubkey, pubkeyecdsa, scripthash or nonstandard.' }),
        covenant: Type.Union(
          [
            Type.Object({
              id: Type.String({ description: 'Covenant id.' }),
              authorizing_input: Type.Integer({ description: 'The input that authorises it.' }),
            }),
            Type.Null(),
          ],
          { description: 'Covenant of the output; null without one.' },
        ),
      }),
      { description: 'What is created.' },
    ),
    tags: Type.Array(Type.String(), {
      description: 'coinbase, covenant, covenant_execution, krc20, native_asset, scriptlang.',
    }),
    details: Type.Object({}, { additionalProperties: true, description: 'One member for each tag.' }),
  },
  { description: 'The parsed transaction.' },
)
