import type { Config } from '../../config/config.ts'
import type { Finding } from '../../store/maintain.ts'

/** What is wrong, and what to do about it. */
export interface Advice {
  readonly finding: string
  readonly todo: string
}

/** Checks one thing that an operator may have forgotten; returns no advice if all is well. */
export interface DoctorCheck {
  readonly name: string
  run(machine: Machine): readonly Advice[] | Promise<readonly Advice[]>
}

/** What checks ask about the machine; they look at files themselves. */
export interface Machine {
  readonly config: Config
  /** Variables that look like settings but are not. */
  readonly warnings: readonly string[]
  /** The file that TAPELINE_CONFIG names, and those that the systemd unit reads. */
  readonly settingsFiles: readonly string[]
  readonly nowMs: number
  /** The service that runs on the data folder. */
  readonly service: { readonly pid: number } | undefined
  /** The memory of this machine or its container. */
  readonly memoryBytes: number
  /** The outcome of the last backups. */
  readonly lastBackup: {
    readonly success?: { readonly takenAtMs: number }
    readonly failure?: { readonly reason: string }
  }
  /** The password with which the store is opened, wherever it is set. */
  readonly storePassword: string | undefined
  store(): Promise<readonly Finding[]>
  /** Throws an error with an explanation if the files do not match. */
  certificate(files: { cert: string; key: string }): { readonly expiresAtMs: number }
  /** The venues that are recorded. */
  venues(): Promise<readonly { venue: string; ok: boolean; line: string }[]>
  /** How far our clock is ahead of each host's clock. */
  clocks(): Promise<readonly { host: string; aheadMs: number }[]>
  nodes(): Promise<readonly NodeReport[]>
  /** Some receivers of active webhooks; undefined if reading them would upgrade the store. */
  receivers(): Promise<readonly Receiver[] | undefined>
  /** The status of a GET without credentials; undefined if there is no answer. */
  statusOf(url: string): Promise<number | undefined>
}

export interface NodeReport {
  /** The address without anything that could be secret. */
  readonly address: string
  /** Why the node cannot be used; undefined if it can. */
  readonly fault: string | undefined
}

export interface Receiver {
  readonly origin: string
  /** Why nothing can be sent to it; undefined if it accepts a connection. */
  readonly fault: string | undefined
}

export const NOTHING: readonly Advice[] = []
