import type { Config } from '../../config/config.ts'
import type { Finding } from '../../store/maintain.ts'

/** What is wrong, and what to do about it. */
export interface Advice {
  readonly finding: string
  readonly todo: string
}

/** One thing that an operator may have forgotten: no advice where it is well. */
export interface DoctorCheck {
  readonly name: string
  run(machine: Machine): readonly Advice[] | Promise<readonly Advice[]>
}

/** What checks ask about the machine; files they look at themselves. */
export interface Machine {
  readonly config: Config
  /** Variables that look like settings and are none. */
  readonly warnings: readonly string[]
  /** The file that TAPELINE_CONFIG names. */
  readonly configFile: string | undefined
  readonly nowMs: number
  /** The service that runs on the data folder. */
  readonly service: { readonly pid: number } | undefined
  /** What this machine or its container has. */
  readonly memoryBytes: number
  /** How the last backups ended. */
  readonly lastBackup: {
    readonly success?: { readonly takenAtMs: number }
    readonly failure?: { readonly reason: string }
  }
  /** Under which password the store is opened, wherever it is set. */
  readonly storePassword: string | undefined
  store(): Promise<readonly Finding[]>
  /** Throws an error with a sentence where its files do not fit. */
  certificate(files: { cert: string; key: string }): { readonly expiresAtMs: number }
  /** Those that are recorded. */
  venues(): Promise<readonly { venue: string; ok: boolean; line: string }[]>
  /** How far our clock is ahead of theirs. */
  clocks(): Promise<readonly { host: string; aheadMs: number }[]>
  nodes(): Promise<readonly NodeReport[]>
  /** Some receivers of active webhooks; undefined where reading them would upgrade the store. */
  receivers(): Promise<readonly Receiver[] | undefined>
  /** The status of a GET without any credential; undefined without an answer. */
  statusOf(url: string): Promise<number | undefined>
}

export interface NodeReport {
  /** Without what could be secret in it. */
  readonly address: string
  /** Why it cannot be used; undefined where it can. */
  readonly fault: string | undefined
}

export interface Receiver {
  readonly origin: string
  /** Why nothing can be sent to it; undefined where it accepts a connection. */
  readonly fault: string | undefined
}

export const NOTHING: readonly Advice[] = []
