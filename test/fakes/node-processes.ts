/** The simulated nodes of a service that runs with its sandbox. */
import { execFileSync } from 'node:child_process'
import { ask } from './client.ts'

/** The processes of the simulated nodes of the service on a data folder. */
export function nodeProcesses(folder: string): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).split('\n')
  return lines
    .filter((line) => line.includes('sandbox/node/process.ts') && line.includes(folder))
    .map((line) => Number.parseInt(line, 10))
}

/** How far the chain is. */
export async function chainScore(url: string, key: string): Promise<number> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"getBlockDagInfo"}'
  const headers = { 'Content-Type': 'application/json' }
  const answer = await ask(`${url}/rpc`, { method: 'POST', key, body, headers })
  return Number(Object(answer.json.result).virtualDaaScore)
}
