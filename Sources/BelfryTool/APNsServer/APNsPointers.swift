import Foundation
import LocalAPNs

/// Says how to point others at the server.
struct APNsPointers {
    let text: String

    init(_ server: LocalAPNs, _ settings: LocalAPNs.Configuration) {
        let credentials = server.credentials
        let (host, environment) = (settings.host, settings.environment.rawValue)
        text = """
            local APNs (\(environment)) at \(host):\(server.port); in a pipeline file:

            transports:
              apns:
                use: apns
                host: \(host)
                port: \(server.port)
                trust: \(Self.absolute(credentials.authorityPath))
                apps:
                  notes:
                    container: iCloud.\(settings.topic)
                    environment: \(environment)
                    topic: \(settings.topic)
                    team: \(credentials.team)
                    key: \(credentials.keyID)
                    keyFile: { $file: \(Self.absolute(credentials.keyPath)) }

            a certificate in place of team, key and keyFile:
                    certificate: \(Self.absolute(credentials.clientPath))
                    certificateKey: { $file: \(Self.absolute(credentials.clientKeyPath)) }
            """
    }

    /// Paths in a pipeline file are relative to that file, wherever it is.
    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }
}
