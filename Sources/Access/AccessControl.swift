import Synchronization
import Time

/// Decides who may do what at a web gateway. Any number of threads may use it.
package final class AccessControl: Sendable {
    private let monitor: AccessKeyMonitor
    private let failures: Mutex<FailureLimiter>
    /// The assertions that this gateway has accepted. Another gateway would accept the same assertions once more.
    private let usedAssertions = Mutex(UsedAssertions())

    /// - Parameters:
    ///   - keyFile: The gateway is in open mode until this file exists. Nil if it is always in open mode.
    ///   - report: Called when a problem with the key file begins, and when it changes into another problem. The
    ///     gateway refuses every request until the key file has no problem.
    package convenience init(
        keyFile: AccessKeyFile?, report: @escaping @Sendable (AccessKeyError) -> Void = { _ in }
    ) {
        self.init(keyFile: keyFile, limiter: FailureLimiter(), report: report)
    }

    init(
        keyFile: AccessKeyFile?, limiter: FailureLimiter,
        report: @escaping @Sendable (AccessKeyError) -> Void = { _ in }
    ) {
        monitor = AccessKeyMonitor(keyFile, report: report)
        failures = Mutex(limiter)
    }

    /// Whether the gateway is in open mode: every client may name its user without proof. In open mode, the gateway
    /// may listen on loopback only.
    package var isOpen: Bool { if case .open = monitor.currentReading() { true } else { false } }

    /// Finds out who makes a request.
    ///
    /// - Throws: The error that the client gets.
    package func authenticate(_ request: AccessRequest, at now: Instant) throws(AccessError) -> Caller {
        try limitingFailures(request, at: now) { () throws(AccessError) in
            guard let keys = try keys() else { return (try OpenMode.caller(of: request), nil) }
            let caller = try Authenticator(keys: keys).caller(of: request, at: now)
            return (caller, caller.keyID)
        }
    }

    /// Whether a request names a key of this gateway in its query or its headers. If not, ``authenticate(_:at:)``
    /// refuses the request, whatever its body is. Always true in open mode.
    package func namesKey(_ request: AccessRequest) -> Bool {
        switch monitor.currentReading() {
        case .open: true
        case .keys(let keys): Authenticator(keys: keys).namesKey(request)
        case .failed: false
        }
    }

    /// Exchanges an assertion of the operator's sign-in service for a web authentication token.
    ///
    /// - Parameters:
    ///   - request: Its query has the API token of the app. Its path names the container and the environment.
    ///   - keepsSignedIn: Whether the token is valid for two weeks instead of 30 minutes.
    /// - Throws: The error that the client gets.
    package func signIn(
        _ request: AccessRequest, assertion: String, keepsSignedIn: Bool, at now: Instant
    ) throws(AccessError) -> SignIn {
        try limitingFailures(request, at: now) { () throws(AccessError) in
            guard let keys = try keys() else {
                throw .notValid(
                    Field.assertion,
                    "the gateway has no keys, so nobody signs in; name the user, as in \(Field.webToken)=_alice")
            }
            let signIn = try Authenticator(keys: keys).signIn(
                request, assertion, keepsSignedIn: keepsSignedIn, at: now
            ) { assertion throws(AccessError) in try use(assertion, at: now) }
            return (signIn, signIn.keyID)
        }
    }

    /// The current keys; nil in open mode.
    private func keys() throws(AccessError) -> AccessKeys? {
        switch monitor.currentReading() {
        case .open: nil
        case .keys(let keys): keys
        // The error contains a path of the server, so clients do not get it.
        case .failed: throw AccessError(.tryAgainLater, nil, "the gateway cannot read its keys", retryAfter: 10)
        }
    }

    private func use(_ assertion: Assertion, at now: Instant) throws(AccessError) {
        try usedAssertions.withLock { used throws(AccessError) in try used.use(assertion, at: now) }
    }

    /// Refuses a client with too many failed attempts. For other clients, runs `check`, and records the attempt if it
    /// failed. After too many failed attempts with one key, also refuses requests with this key from clients that
    /// failed lately.
    ///
    /// - Parameter check: Returns the result of this function, and the ID of the request's key. The ID is nil in open
    ///   mode. For a sign-in, the key is the one that signed the assertion, not the API token.
    private func limitingFailures<Result>(
        _ request: AccessRequest, at now: Instant, _ check: () throws(AccessError) -> (Result, keyID: String?)
    ) throws(AccessError) -> Result {
        let client = request.client
        try failures.withLock { limiter throws(AccessError) in try limiter.admit(client, at: now) }
        do throws(AccessError) {
            let (result, keyID) = try check()
            try admit(client, to: keyID, at: now)
            return result
        } catch {
            guard let attempt = error.attempt else { throw error }
            try admit(client, to: attempt.keyID, at: now)
            record(client, attempt, at: now)
            throw error
        }
    }

    private func admit(_ client: String, to keyID: String?, at now: Instant) throws(AccessError) {
        guard let keyID else { return }
        try failures.withLock { limiter throws(AccessError) in try limiter.admit(client, to: keyID, at: now) }
    }

    private func record(_ client: String, _ attempt: FailedAttempt, at now: Instant) {
        failures.withLock { limiter in
            limiter.record(.client(client), at: now)
            if let keyID = attempt.keyID { limiter.record(.key(keyID), at: now) }
        }
    }
}
