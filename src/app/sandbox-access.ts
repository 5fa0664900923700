/** The simulated nodes of the running service for commands, through their control port. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../cli/command.ts'
import type { SandboxAccess } from '../cli/sandbox-commands.ts'
import type { SandboxNodes } from './sandbox-nodes.ts'

export const SANDBOX_NODE_FOLDER = 'sandbox-node'
const FILE = 'control.json'
const ANSWER_WITHIN_MS = 10_000

type Nodes = SandboxNodes['nodes']

/** Writes where the nodes can be reached. A file left behind by a killed process is detected by asking the nodes. */
export function publishControl(dataFolder: string, nodes: Nodes): void {
  const file = join(dataFolder, SANDBOX_NODE_FOLDER, FILE)
  writeFileSync(`${file}.new`, JSON.stringify({ nodes }), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

export async function sandboxAccess(dataFolder: string): Promise<SandboxAccess> {
  const node = await firstRunning(readNodes(join(dataFolder, SANDBOX_NODE_FOLDER, FILE)))
  if (node === undefined)
    throw new CommandError(
      `No sandbox runs on the data folder ${dataFolder}: start the service there first, with TAPELINE_SANDBOX and TAPELINE_TEST on.`,
    )
  const ask = async (path: string, body?: unknown) => {
    const response = await fetch(node.controlUrl + path, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    const answer = (await response.json()) as Record<string, unknown>
    if (!response.ok) throw new CommandError(`The sandbox refuses: ${String(answer.error)}`)
    return answer
  }
  return {
    async pay(address, amountSompi) {
      const { transactionId } = await ask('/pay', { address, amount: String(amountSompi) })
      if (typeof transactionId !== 'string')
        throw new CommandError('The faucet has not so much to spend at once: ask for less.')
      return transactionId
    },
    wallets: async () => (await ask('/wallets')) as unknown as Awaited<ReturnType<SandboxAccess['wallets']>>,
  }
}

function readNodes(file: string): Nodes {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { nodes: Nodes }).nodes
  } catch {
    return []
  }
}

/** The port may belong to another process by now, so the node has to identify itself. */
async function firstRunning(nodes: Nodes): Promise<Nodes[number] | undefined> {
  for (const node of nodes) {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
    const status = await fetch(`${node.controlUrl}/status`, { signal })
      .then((response) => response.json())
      .catch(() => undefined)
    if ((status as { name?: unknown } | undefined)?.name === node.name) return node
  }
  return undefined
}
