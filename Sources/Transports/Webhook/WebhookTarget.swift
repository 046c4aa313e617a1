import Foundation
import PipelineKit

/// The URL and headers of requests, with the secrets filled in.
struct WebhookTarget: Sendable {
    let url: URL
    let headers: [(name: String, value: String)]

    init(_ settings: WebhookSettings) throws(TransportError) {
        url = try Self.url(settings)
        headers = try settings.headers.map { header throws(TransportError) in
            (header.name, try Self.value(of: header))
        }
    }

    /// The errors in the URL, in the values of the headers and in the signing secrets. A secret that this process
    /// cannot read is not checked.
    static func errors(_ settings: WebhookSettings) -> [TransportError] {
        func error(_ secret: Secret, _ use: () throws(TransportError) -> Void) -> TransportError? {
            guard secret.isReadable else { return nil }
            do throws(TransportError) { try use() } catch { return error }
            return nil
        }
        let ofURL = error(settings.url) { () throws(TransportError) in _ = try url(settings) }
        let ofHeaders = settings.headers.map { header in
            error(header.value) { () throws(TransportError) in _ = try value(of: header) }
        }
        let ofSecrets = settings.secrets.map { secret in
            error(secret) { () throws(TransportError) in _ = try WebhookSigner([secret]) }
        }
        return ([ofURL] + ofHeaders + ofSecrets).compactMap(\.self)
    }

    /// The differences to report to the operator when this target replaces `other`. They contain no secrets.
    func differences(from other: WebhookTarget) -> [String] {
        let isSame = headers.elementsEqual(other.headers) { $0 == $1 }
        return (url == other.url ? [] : ["posts to another url"]) + (isSame ? [] : ["sends other headers"])
    }

    private static func url(_ settings: WebhookSettings) throws(TransportError) -> URL {
        let text = try revealed(settings.url)
        do throws(Flaw) {
            return try url(text, mayBePrivate: settings.rules.allowsPrivateNetworks)
        } catch {
            throw TransportError(
                settings.url.failure("is not a usable webhook URL: \(error.reason)", hint: error.hint))
        }
    }

    private static func value(of header: (name: String, value: Secret)) throws(TransportError) -> String {
        let text = try revealed(header.value)
        guard isHeaderValue(text) else {
            throw TransportError(header.value.failure(unusableHeaderValue))
        }
        return text
    }

    private static func revealed(_ secret: Secret) throws(TransportError) -> String {
        do throws(SettingsError) { return try secret.reveal() } catch {
            throw TransportError(error)
        }
    }
}

// MARK: - Rules

extension WebhookTarget {
    /// What is wrong with a URL. The reason shows no secret part of the URL.
    struct Flaw: Error {
        let reason: String
        let hint: String
    }

    static func url(_ text: String, mayBePrivate: Bool) throws(Flaw) -> URL {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            let host = url.host(), !host.isEmpty
        else {
            throw Flaw(reason: "expected an http or https URL", hint: "write one like https://example.com/pushes")
        }
        guard url.user() == nil, url.password() == nil else {
            throw Flaw(
                reason: "contains a user name or a password",
                hint: "send an authorization header instead: see headers")
        }
        guard mayBePrivate || !isPrivate(host) else {
            throw Flaw(
                reason: "\(host) is in a private network",
                hint: "to allow this, set privateNetworks: allow beside url")
        }
        return url
    }

    /// Whether the host is certainly private: a private IP address, or `localhost`. The addresses of other names become
    /// known only when a request is sent.
    private static func isPrivate(_ host: String) -> Bool {
        // RFC 6761, section 6.3.
        let isLocalhost = host.lowercased().split(separator: ".").last == "localhost"
        return IPAddress(host: host).map { !$0.isPublic } ?? isLocalhost
    }

    static let unusableHeaderValue = "contains a character that is not printable ASCII"

    static func isHeaderValue(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
}
