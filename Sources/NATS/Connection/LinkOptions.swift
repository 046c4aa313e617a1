import CNATS
import Glibc

/// The options of a link.
final class LinkOptions {
    let pointer: OpaquePointer

    /// - Parameter context: A retained ``LinkContext``. The callback that is told that the link is closed releases it.
    init(_ settings: NATSSettings, _ context: UnsafeMutableRawPointer) throws(NATSError) {
        var pointer: OpaquePointer?
        let status = natsOptions_Create(&pointer)
        guard status == NATS_OK, let pointer else { throw .libnats("make options", status) }
        self.pointer = pointer
        try setServers(settings)
        try setReconnecting(settings)
        try setTimes(settings)
        try setCredentials(settings.credentials, context)
        if settings.usesTLS { try setTLS(settings.trust ?? NATSTrust()) }
        try setCallbacks(context)
    }

    deinit { natsOptions_Destroy(pointer) }

    /// Makes libnats connect on a thread of its own, and try until it succeeds.
    func connectInBackground() throws(NATSError) {
        try check(natsOptions_SetRetryOnFailedConnect(pointer, true, { _, _ in }, nil), "set retrying")
    }

    private func setServers(_ settings: NATSSettings) throws(NATSError) {
        guard !settings.servers.isEmpty else { throw .withoutServers }
        let copies = settings.servers.map { strdup($0.description) }
        defer { for copy in copies { free(copy) } }
        var pointers = copies.map { $0.map { UnsafePointer($0) } }
        let count = CInt(pointers.count)
        try check(natsOptions_SetServers(pointer, &pointers, count), "set servers")
        try check(natsOptions_SetIgnoreDiscoveredServers(pointer, true), "ignore other servers")
        try check(natsOptions_SetName(pointer, LinkOptions.escaped(settings.name)), "set name")
    }

    private func setReconnecting(_ settings: NATSSettings) throws(NATSError) {
        try check(natsOptions_SetMaxReconnect(pointer, CInt.max), "set reconnecting")
        let pause = max(1, settings.reconnectPause.wholeMilliseconds)
        try check(natsOptions_SetReconnectWait(pointer, pause), "set reconnect pause")
        try check(natsOptions_SetReconnectJitter(pointer, pause, pause), "set reconnect jitter")
        // Without a buffer, a publish fails while there is no connection. libnats 3.4.1 takes 0 as the size, although
        // its header says that 0 means 8 MB. A size of 1 would hold one message back and send it later.
        try check(natsOptions_SetReconnectBufSize(pointer, 0), "set reconnect buffer")
        // Each publish writes to the socket itself, so that its caller learns whether the write failed.
        try check(natsOptions_SetSendAsap(pointer, true), "set sending at once")
    }

    private func setTimes(_ settings: NATSSettings) throws(NATSError) {
        try check(
            natsOptions_SetTimeout(pointer, max(1, settings.connectTimeout.wholeMilliseconds)), "set connect timeout")
        try check(
            natsOptions_SetWriteDeadline(pointer, max(1, settings.writeTimeout.wholeMilliseconds)),
            "set write timeout")
        try check(
            natsOptions_SetPingInterval(pointer, max(1, settings.pingInterval.wholeMilliseconds)), "set ping interval")
        try check(natsOptions_SetMaxPingsOut(pointer, CInt(clamping: settings.unansweredPingsMax)), "set pings")
    }

    private func setCallbacks(_ context: UnsafeMutableRawPointer) throws(NATSError) {
        try check(
            natsOptions_SetDisconnectedCB(
                pointer, { _, closure in LinkOptions.context(closure)?.onChange(.disconnected) }, context),
            "set callback")
        // libnats calls this exactly once for each connection that it made, and nothing after it.
        try check(
            natsOptions_SetClosedCB(
                pointer,
                { _, closure in
                    guard let closure else { return }
                    Unmanaged<LinkContext>.fromOpaque(closure).takeRetainedValue().onChange(.closed)
                }, context), "set callback")
        // The default handler prints to standard error.
        try check(natsOptions_SetErrorHandler(pointer, { _, _, _, _ in }, nil), "set callback")
    }

    private static func context(_ closure: UnsafeMutableRawPointer?) -> LinkContext? {
        closure.map { Unmanaged<LinkContext>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Credentials

    private func setCredentials(
        _ credentials: NATSCredentials, _ context: UnsafeMutableRawPointer
    ) throws(NATSError) {
        switch credentials {
        case .none: break
        case .user(let user, let password):
            let status = natsOptions_SetUserInfo(pointer, LinkOptions.escaped(user), LinkOptions.escaped(password))
            try check(status, "set user")
        case .token(let token): try check(natsOptions_SetToken(pointer, LinkOptions.escaped(token)), "set token")
        case .file(let path):
            guard access(path, R_OK) == 0 else {
                throw .invalidCredentials(reason: "cannot read \(path): \(String(cString: strerror(errno)))")
            }
            try check(natsOptions_SetUserCredentialsFromFiles(pointer, path, nil), "set credentials file")
        case .nkey(let seed): try check(setNKey(seed, context), "set nkey")
        }
    }

    private func setNKey(_ seed: NKeySeed, _ context: UnsafeMutableRawPointer) -> natsStatus {
        natsOptions_SetNKey(
            pointer, seed.publicKey,
            { _, signature, bytes, nonce, closure in
                guard let seed = LinkOptions.context(closure)?.seed else { return NATS_ERR }
                return nats_Sign(seed, nonce, signature, bytes)
            }, context)
    }

    /// The text with JSON's escapes, because libnats copies it unchanged into a JSON string.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": escaped += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    // MARK: TLS

    private func setTLS(_ trust: NATSTrust) throws(NATSError) {
        try check(natsOptions_SetSecure(pointer, true), "set TLS")
        if let file = trust.authorities {
            try checkFile(natsOptions_LoadCATrustedCertificates(pointer, file), file)
        }
        if let identity = trust.identity {
            try checkFile(
                natsOptions_LoadCertificatesChain(pointer, identity.certificate, identity.key),
                "\(identity.certificate) and \(identity.key)")
        }
    }

    private func checkFile(_ status: natsStatus, _ file: String) throws(NATSError) {
        guard status != NATS_OK else { return }
        let reason = nats_GetLastError(nil).map { String(cString: $0) } ?? String(cString: natsStatus_GetText(status))
        throw .invalidCertificate(file: file, reason: reason)
    }

    private func check(_ status: natsStatus, _ operation: String) throws(NATSError) {
        guard status == NATS_OK else { throw .libnats(operation, status) }
    }
}
