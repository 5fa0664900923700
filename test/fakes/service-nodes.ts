/** The simulated nodes of a service that runs with its sandbox. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from './client.ts'

interface ServiceNode {
  readonly name: string
  readonly url: string
  readonly controlUrl: string
}

/** The nodes of the last service that started on a data folder. */
export function serviceNodes(folder: string): ServiceNode[] {
  const text = readFileSync(join(folder, 'sandbox-node', 'control.json'), 'utf8')
  return (JSON.parse(text) as { nodes: ServiceNode[] }).nodes
}

export const isRunning = ({ controlUrl, name }: ServiceNode): Promise<boolean> =>
  ask(`${controlUrl}/status`).then(
    ({ json }) => json.name === name,
    () => false,
  )

/** The node ends abruptly, as one that was killed. */
export async function killNode({ controlUrl }: ServiceNode): Promise<void> {
  await ask(`${controlUrl}/die`, { method: 'POST' })
}

/** How far the chain is. */
export async function chainScore(url: string, key: string): Promise<number> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"getBlockDagInfo"}'
  const headers = { 'Content-Type': 'application/json' }
  const answer = await ask(`${url}/rpc`, { method: 'POST', key, body, headers })
  return Number(Object(answer.json.result).virtualDaaScore)
}
