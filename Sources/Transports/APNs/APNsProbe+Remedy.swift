import Foundation

/// What a finding means, and what is to be done.
extension APNsProbe.Finding {
    package var text: String {
        let (topic, environment) = (asked.topic, asked.environment)
        return switch verdict {
        case .good: "\(whatIsAsked), topic, environment and clock are right"
        case .credential: "APNs does not take \(credential)"
        case .environment: "\(credential) is not for \(environment)"
        case .topic: "\(topic) is no topic of \(credential)"
        case .token:
            "APNs does not take the time of the token: this machine's clock is wrong, or tokens change too often"
        case .unreachable: "APNs cannot be asked"
        case .unclear: "APNs says something else"
        }
    }

    /// Nil where nothing is wrong.
    package var remedy: String? {
        switch verdict {
        case .credential: ofCertificate ?? otherKeyFile ?? verdict.remedy
        case .unreachable: reason.flatMap(ConnectionFailure.remedy) ?? verdict.remedy
        default: verdict.remedy
        }
    }

    private var whatIsAsked: String {
        if case .certificate = asked.credential { return "certificate" }
        return "key, team"
    }

    private var ofCertificate: String? {
        guard case .certificate = asked.credential else { return nil }
        return certificate.map(\.remedy) ?? APNsProbe.certificateRemedy
    }

    private var credential: String {
        switch asked.credential {
        case .key(let id, let team, _): "key \(id) of team \(team)"
        case .certificate(let path, _): "the certificate \(path)"
        }
    }

    /// Apple's developer site gives the file a name that holds the key's ID.
    private var otherKeyFile: String? {
        guard case .key(let id, _, let secret) = asked.credential, let path = secret.file else { return nil }
        let name = URL(fileURLWithPath: path).lastPathComponent
        guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8"), name != "AuthKey_\(id).p8" else { return nil }
        return "keyFile is \(name), but key is \(id): correct one of them"
    }
}

extension APNsProbe.Verdict {
    /// Nil where nothing is wrong.
    package var remedy: String? {
        switch self {
        case .good: nil
        case .credential:
            "compare key, team and the .p8 file with developer.apple.com, Keys: APNs does not say which is wrong; "
                + "the key may have been revoked, or this machine's clock be ahead"
        case .environment: "take a key or certificate for it, or correct environment"
        case .topic: "compare topic with the app's bundle ID and the key's topics"
        case .token: "set this machine's clock (timedatectl); if it is right, see who else makes tokens with this key"
        case .unreachable: "see host, port, proxy, trust and the firewall: APNs needs 443 or 2197"
        case .unclear: "try again later; see Apple's system status"
        }
    }
}

extension APNsProbe {
    /// What is to be done about an answer to a push, or about its lack; nil where that is no matter of apps, credentials or
    /// connections.
    package static func remedy(status: Int?, reason: String) -> String? {
        let verdict = verdict(status: status, reason: reason)
        switch verdict {
        case .good: return nil
        case .unclear: return isForLater(status) ? later : nil
        case .unreachable: return MissingApp.remedy(reason) ?? ConnectionFailure.remedy(reason) ?? unanswered(reason)
        case .credential, .environment, .topic, .token: return ofCertificate(reason) ?? verdict.remedy
        }
    }

    /// APNs' reason tells that it was one; belfry doctor apns knows its end.
    private static func ofCertificate(_ reason: String) -> String? {
        reason == "BadCertificate" ? certificateRemedy : nil
    }

    static let certificateRemedy =
        "compare the certificate with developer.apple.com, Certificates: it may be over, be revoked, or be another app's"

    private static func isForLater(_ status: Int?) -> Bool {
        status.map { $0 >= 500 || $0 == 429 || $0 == 408 } ?? false
    }

    private static let later =
        "try again later, and see Apple's system status; a pipeline does so by itself: after a 5xx in retryAfter5xx"

    private static func unanswered(_ reason: String) -> String? {
        guard PoolState.unanswered.contains(reason) || reason.hasPrefix(PoolState.reset) else { return nil }
        return "the device may get it all the same; belfry doctor apns asks the server again and disturbs nobody"
    }
}

extension ConnectionFailure {
    /// - Parameter reason: As ``ServerName/words(for:isDialing:)`` gave it.
    static func remedy(_ reason: String) -> String? {
        if reason.hasPrefix("the proxy ") {
            return "see proxy and proxyLogin, that the proxy runs, and that it allows CONNECT to APNs"
        }
        return allCases.first { reason.hasSuffix(" " + $0.rawValue) }?.remedy
    }

    private var remedy: String {
        switch self {
        case .notFound: "see host, and this machine's DNS"
        case .refused: "see host and port, and that the server runs"
        case .silent, .closed, .noTunnel, .noTLSAnswer:
            "see host and port, and the firewall: APNs needs 443 or 2197; or name a proxy"
        case .noRoute: "see this machine's network and its routes; or name a proxy"
        case .untrusted: "see trust, and the system's certificates; somebody may stand between here and the server"
        case .otherName: "see host: it must be a name that the server's certificate has"
        case .noTLS, .noHandshake, .noHTTP2, .noSettings:
            "see host, port and proxy: APNs speaks HTTP/2 over TLS 1.2 or later"
        }
    }
}
