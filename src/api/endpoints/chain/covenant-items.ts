/** Shared by the covenant endpoints. */

import { Type } from 'typebox'
import { ParamRefusal, readBy } from '../../../contract/params.ts'
import { integerField, nullableTextField, textField, timeField } from '../../../core/rows/fields.ts'
import type { CovenantUtxo } from '../../../store/covenants.ts'
import { nodeTime } from './node-time.ts'

export const covenantIdParam = readBy<string>('Covenant id.', {
  schema: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' },
  example: (samples) => samples.covenantId,
  read: (text) =>
    /^[0-9a-fA-F]{64}$/.test(text)
      ? text.toLowerCase()
      : new ParamRefusal('must be 64 hex digits', undefined, 'format'),
})

export const CovenantUtxoSchema = Type.Object({
  covenant_id: textField('The covenant it is bound to.'),
  tx_id: textField('Transaction that created it.'),
  index: integerField('Which of its outputs.'),
  amount_sompi: integerField('Amount in sompi.'),
  address: nullableTextField('Address of its script; null for a script without one.'),
  script_public_key: textField('Four hex digits of version, then the script.'),
  block_time: timeField('Time of the block that carries the transaction.'),
})

export function utxoText(utxo: CovenantUtxo): string {
  return `{"covenant_id":"${utxo.covenantId}","tx_id":"${utxo.txId}","index":${utxo.index},"amount_sompi":${utxo.amount},"address":${JSON.stringify(utxo.address)},"script_public_key":${JSON.stringify(utxo.scriptPublicKey)},"block_time":${JSON.stringify(nodeTime(utxo.timeMs))}}`
}
