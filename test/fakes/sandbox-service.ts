/**
 * The whole service with its simulated venues and nodes, as `npm start` runs it, in a separate process. Files that run
 * in one process share it. If the machine allows it, the service has its own small disk (in a mount namespace).
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from './client.ts'
import { type ChildService, dataFolder, printedKey, spawnService } from './service.ts'
import { share, stopSharedAfterFile } from './shared.ts'

const DISK = 'mount -t tmpfs -o size=768m tmpfs "$TAPELINE_DATA" && exec "$@"'
const OWN_DISK = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c']

export interface SandboxService {
  readonly service: ChildService
  /** The key that the first start printed. */
  readonly key: string
  readonly metricsToken: string
  /** Whether the data folder is on its own small disk. */
  readonly hasOwnDisk: boolean
  /** The data folder as it was given to the service. */
  readonly data: string
  /** The data folder as the service sees it, through its own mounts. */
  readonly dataInside: string
}

/** Whether this machine has mount namespaces. */
export function canMount(): boolean {
  const [command = '', ...args] = OWN_DISK
  const attempt = 'd=$(mktemp -d) && mount -t tmpfs tmpfs "$d" && umount "$d"; s=$?; rmdir "$d"; exit $s'
  return spawnSync(command, [...args, attempt]).status === 0
}

const METRICS_TOKEN = 'a-token-for-metrics'

const shared = share<SandboxService>(async () => {
  const folder = dataFolder()
  const data = join(folder.path, 'data')
  mkdirSync(data)
  const hasOwnDisk = canMount()
  const service = await spawnService(folder.path, {
    env: {
      TAPELINE_DATA: data,
      TAPELINE_SANDBOX: 'on',
      TAPELINE_LOG_LEVEL: 'info',
      // As many as its tests need.
      TAPELINE_SANDBOX_TRADES: '1',
      TAPELINE_METRICS_TOKEN: METRICS_TOKEN,
      // The whole disk is smaller than the default limit of free space.
      TAPELINE_MIN_FREE: '32MB',
      // Receivers are on this machine.
      TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on',
      TAPELINE_SIGN_UP_PLAN: 'business',
    },
    ...(hasOwnDisk ? { wrap: [...OWN_DISK, DISK, 'sh'] } : {}),
  })
  return {
    value: {
      service,
      key: await printedKey(service),
      metricsToken: METRICS_TOKEN,
      hasOwnDisk,
      data,
      dataInside: hasOwnDisk ? join(`/proc/${service.pid}/root`, data) : data,
    },
    stop: async () => {
      await service.kill('SIGTERM')
      folder.remove()
    },
  }
})

/** Call it where the tests are declared, and the returned function in a `before` hook. */
export function useSandboxService(): () => Promise<SandboxService> {
  stopSharedAfterFile()
  return shared
}

/** A value of `/metrics`, by name and labels. */
export async function metricOf(
  { service, metricsToken }: SandboxService,
  name: string,
): Promise<number | undefined> {
  const answer = await ask(`${service.url}/metrics`, {
    headers: { authorization: `Bearer ${metricsToken}` },
  })
  const found = answer.text.split('\n').find((line) => line.startsWith(`${name} `))
  return found === undefined ? undefined : Number(found.split(' ').at(-1))
}
