/** Signature operators in the script that a pay-to-script-hash input reveals. */
import { fromHex } from '../consensus/bytes.ts'
import { parseScript } from './push.ts'

const SINGLE = new Set([0xab, 0xac, 0xad])
const MULTIPLE = new Set([0xa9, 0xae])

export function countSigOps(signatureScript: string): number {
  const revealed = parseScript(fromHex(signatureScript))?.at(-1)?.data
  const instructions = revealed === undefined ? undefined : parseScript(revealed)
  let count = 0
  instructions?.forEach(({ opcode }, i) => {
    if (SINGLE.has(opcode)) count += 1
    if (!MULTIPLE.has(opcode)) return
    const keys = instructions[i - 1]?.opcode ?? 0
    count += keys >= 0x51 && keys <= 0x60 ? keys - 0x50 : 20
  })
  return count
}
