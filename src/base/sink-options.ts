/**
 * A reference to a secret: the name of an environment variable, or `file:` and an absolute path. In code
 * also a function that returns the secret itself (from a vault, say). Read anew for each delivery.
 */
export type SecretFrom = string | (() => string | PromiseLike<string>);

export interface JsonlSinkOptions {
  /** The file that lines are appended to, relative to the working directory; folders are made. */
  readonly path: string;
}

/** Either `url` or `urlFrom`. */
export interface WebhookSinkOptions {
  readonly url?: string | undefined;
  /** The address, where it is itself a secret. */
  readonly urlFrom?: SecretFrom | undefined;
  /** Signs each request as Standard Webhooks do; a secret that begins with `whsec_` is decoded from base64. */
  readonly signingSecretFrom?: SecretFrom | undefined;
  /** The whole value of the header `authorization`. */
  readonly authorizationFrom?: SecretFrom | undefined;
  /** Values of further headers, by name. */
  readonly headersFrom?: { readonly [header: string]: SecretFrom } | undefined;
}

export interface AlertmanagerSinkOptions {
  /** Where Alertmanager answers, without `/api/v2/alerts`; several for a highly available pair: each is told everything. */
  readonly url: string | readonly string[];
  /** Labels that every alert gets besides its own: `{ team: 'delivery' }`. */
  readonly labels?: { readonly [name: string]: string } | undefined;
  /** Basic authentication, with `passwordFrom`. */
  readonly username?: string | undefined;
  readonly passwordFrom?: SecretFrom | undefined;
  /** Bearer authentication. */
  readonly bearerFrom?: SecretFrom | undefined;
}

export interface PagerDutySinkOptions {
  /** The integration key of an Events API v2 integration. */
  readonly routingKeyFrom: SecretFrom;
  /** Default `https://events.pagerduty.com/v2/enqueue`; in the EU `https://events.eu.pagerduty.com/v2/enqueue`. */
  readonly url?: string | undefined;
}

export interface SlackSinkOptions {
  /** The address of an incoming webhook, which is a secret. */
  readonly webhookFrom: SecretFrom;
}
