import { Type } from 'typebox'

const orNull = (type: 'string' | 'integer', description: string) =>
  Type.Union([type === 'string' ? Type.String() : Type.Integer(), Type.Null()], { description })

/** A transaction as the parser shows it. */
export const ParsedTransaction = Type.Object(
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

export const PARSED_EXAMPLE = {
  tx_id: '9e52e1d8bb9e1ee5cbe1d1d2cd2a1e4ae6e2f6a8e2ab0f8b2c7d1d6a4c3b2a10',
  inputs: [
    {
      tx_id: '2c4cd121693ea9696ee163ec428115b818d6ba3c08924052f5af5155c53fbd97',
      index: 0,
      address: 'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j',
      amount_sompi: 22_000_203_600,
    },
  ],
  outputs: [
    {
      index: 0,
      amount_sompi: 22_000_000_000,
      address: 'kaspa:qr0lr4ml9fn3chekrqmjdkergxl93l4wrk3dankcgvjq776s9wn9jkdskewva',
      script_public_key: '000020dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659ac',
      script_class: 'pubkey',
      covenant: null,
    },
  ],
  tags: [],
  details: {},
}
