/** Sandbox nodes in separate processes, on a chain of this process, so that tests can stop and kill them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const ENTRY = join(import.meta.dirname, '../../sandbox/node/process.ts')

export interface NodeProcess {
  readonly name: string
  readonly url: string
  readonly child: ChildProcess
  /** SIGSTOP, SIGCONT, SIGKILL */
  signal(signal: NodeJS.Signals): void
  end(): Promise<void>
}

export async function startNodeProcess(name: string, linkPort: number): Promise<NodeProcess> {
  const args = [ENTRY, '--name', name, '--attach', String(linkPort), '--with-parent']
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const ready = JSON.parse(line) as { nodes: { url: string }[] }
  return {
    name,
    url: ready.nodes[0]?.url ?? '',
    child,
    signal: (signal) => void child.kill(signal),
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
