/** Joins answers to one body. Results are not parsed and, when they are large, not copied. */
import type { RpcAnswer } from './rpc-run.ts'

const MAX_TEXT = 4_096
const LARGEST_JOINED = 65_536

export function writeAnswers(answers: readonly RpcAnswer[], isBatch: boolean): string | Buffer | Buffer[] {
  const [only] = answers
  if (!isBatch && only !== undefined && (only.result?.length ?? 0) <= MAX_TEXT) return textOf(only)
  const pieces: (string | Buffer)[] = isBatch ? ['['] : []
  for (const [index, answer] of answers.entries()) {
    if (index > 0) pieces.push(',')
    if (answer.result === undefined) pieces.push(answer.text ?? 'null')
    else pieces.push(`{"jsonrpc":"2.0","id":${answer.idText},"result":`, answer.result, '}')
  }
  if (isBatch) pieces.push(']')
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (length <= MAX_TEXT) return pieces.map((piece) => piece.toString()).join('')
  const parts = pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
  return length <= LARGEST_JOINED ? Buffer.concat(parts) : parts
}

function textOf({ text, result, idText }: RpcAnswer): string {
  if (result === undefined) return text ?? 'null'
  return `{"jsonrpc":"2.0","id":${idText},"result":${result.toString('utf8')}}`
}
