import { Type } from 'typebox'
import {
  integerField,
  nullableField,
  nullableIntegerField,
  nullableTextField,
  textField,
} from '../../../core/rows/fields.ts'

/** Absent from transactions that an earlier release indexed. */
export const SignedField = Type.Optional(
  nullableField(
    Type.Boolean(),
    'Whether a key of the address is shown to have signed. False: its program demanded none. Null: not shown.',
  ),
)

/** A transaction as the parser presents it. */
export const ParsedTransactionSchema = Type.Object(
  {
    tx_id: textField('Transaction id.'),
    inputs: Type.Array(
      Type.Object({
        tx_id: textField('Transaction whose output is spent.'),
        index: integerField('Which of its outputs.'),
        address: nullableTextField('Whose output it is; null while unknown.'),
        amount_sompi: nullableIntegerField('How much; null while unknown.'),
        signed: SignedField,
      }),
      { description: 'What is spent.' },
    ),
    outputs: Type.Array(
      Type.Object({
        index: integerField('Place of the output.'),
        amount_sompi: integerField('Amount in sompi.'),
        address: nullableTextField('Who receives it; null for a script without an address.'),
        script_public_key: textField('Four hex digits of version, then the script.'),
        script_class: textField('pubkey, pubkeyecdsa, scripthash or nonstandard.'),
        covenant: Type.Union(
          [
            Type.Object({
              id: textField('Covenant id.'),
              authorizing_input: integerField('The input that authorises it.'),
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
