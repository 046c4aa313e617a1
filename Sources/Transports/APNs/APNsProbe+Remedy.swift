import Foundation

/// Explanations of findings, and their remedies.
extension APNsProbe.Finding {
    /// The finding as a sentence.
    package var text: String {
        let (topic, environment) = (appSettings.topic, appSettings.environment)
        return switch verdict {
        case .good: "\(nameOfCredential), topic, environment and clock are right"
        case .credential: "APNs rejects \(credential)"
        case .environment: "\(credential) is not valid for \(environment)"
        case .topic: "\(topic) is not a topic of \(credential)"
        case .token:
            "APNs rejects the provider token: this machine's clock is wrong, or tokens change too often"
        case .unreachable: "APNs cannot be reached"
        case .unclear: "APNs gave an answer that says nothing about the app"
        }
    }

    /// What to do; nil if nothing is wrong.
    package var remedy: String? {
        switch verdict {
        case .credential: remedyForCertificate ?? remedyForOtherKeyFile ?? verdict.remedy
        case .unreachable: reason.flatMap(ConnectionFailure.remedy) ?? verdict.remedy
        default: verdict.remedy
        }
    }

    private var nameOfCredential: String {
        if case .certificate = appSettings.credential { return "certificate" }
        return "key, team"
    }

    private var remedyForCertificate: String? {
        guard case .certificate = appSettings.credential else { return nil }
        return certificate.map(\.remedy) ?? APNsProbe.certificateRemedy
    }

    private var credential: String {
        switch appSettings.credential {
        case .key(let id, let team, _): "key \(id) of team \(team)"
        case .certificate(let path, _): "the certificate \(path)"
        }
    }

    /// The remedy if the file's name contains another key's ID: Apple's developer site names each file after its key.
    private var remedyForOtherKeyFile: String? {
        guard case .key(let id, _, let secret) = appSettings.credential, let path = secret.file else { return nil }
        let name = URL(fileURLWithPath: path).lastPathComponent
        guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8"), name != "AuthKey_\(id).p8" else { return nil }
        return "keyFile is \(name), but key is \(id): correct one of the two"
    }
}

extension APNsProbe.Verdict {
    /// What to do; nil if nothing is wrong.
    package var remedy: String? {
        switch self {
        case .good: nil
        case .credential:
            "compare key, team and the .p8 file with the page Keys of developer.apple.com: APNs does not say which is "
                + "wrong; the key may be revoked, or this machine's clock may be ahead"
        case .environment: "use a key or certificate for that environment, or correct the app's environment"
        case .topic: "compare topic with the app's bundle ID and the key's topics"
        case .token:
            "set this machine's clock (timedatectl); if it is right, find out who else makes tokens with the key"
        case .unreachable: "check host, port, proxy, trust and the firewall: APNs needs port 443 or 2197"
        case .unclear: "try again later; see Apple's system status"
        }
    }
}

extension APNsProbe {
    /// What to do about an answer to a push, or about a missing answer. Nil if the push was accepted, if only the
    /// push or its device token is wrong, or if no remedy is known.
    package static func remedy(status: Int?, reason: String) -> String? {
        let verdict = verdict(status: status, reason: reason)
        switch verdict {
        case .good: return nil
        case .unclear: return isTemporary(status) ? retryRemedy : nil
        case .unreachable:
            return MissingApp.remedy(reason) ?? ConnectionFailure.remedy(reason) ?? remedyIfUnanswered(reason)
        case .credential, .environment, .topic, .token:
            return reason == "BadCertificate" ? certificateRemedy : verdict.remedy
        }
    }

    static let certificateRemedy =
        "compare the certificate with the page Certificates of developer.apple.com: it may be expired or revoked, or "
        + "belong to another app"

    private static func isTemporary(_ status: Int?) -> Bool {
        status.map { $0 >= 500 || $0 == 429 || $0 == 408 } ?? false
    }

    private static let retryRemedy =
        "try again later, and see Apple's system status; a pipeline retries automatically: after a 5xx it waits for "
        + "retryAfter5xx"

    private static func remedyIfUnanswered(_ reason: String) -> String? {
        guard PoolState.unansweredReasons.contains(reason) || reason.hasPrefix(PoolState.reset) else { return nil }
        return "the device may still get the push; run belfry doctor apns to test the server without sending a push"
    }
}

extension ConnectionFailure {
    /// What to do about a failed connection, if the reason blames the proxy or ends with the raw value of a
    /// ``ConnectionFailure``. Otherwise nil.
    ///
    /// - Parameter reason: Why a push got no answer, for example a result of ``ServerName/words(for:isDialing:)``.
    static func remedy(_ reason: String) -> String? {
        if reason.hasPrefix("the proxy ") {
            return "check proxy and proxyLogin, that the proxy runs, and that it allows CONNECT to APNs"
        }
        return allCases.first { reason.hasSuffix(" " + $0.rawValue) }?.remedy
    }

    private var remedy: String {
        switch self {
        case .notFound: "check host, and this machine's DNS"
        case .refused: "check host and port, and that the server runs"
        case .silent, .closed, .noTunnel, .noTLSAnswer:
            "check host and port, and the firewall: APNs needs port 443 or 2197; or set proxy"
        case .noRoute: "check this machine's network and its routes; or set proxy"
        case .untrusted: "check trust, and the system's certificates; somebody may intercept the connection"
        case .otherName: "check host: it must be a name in the server's certificate"
        case .noTLS, .noHandshake, .noHTTP2, .noSettings:
            "check host, port and proxy: APNs speaks HTTP/2 over TLS 1.2 or later"
        }
    }
}
