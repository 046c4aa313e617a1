import Foundation
import LocalAPNs

/// The pipeline settings that use a local APNs.
enum APNsPipelineSettings {
    static func text(_ server: LocalAPNs, _ settings: LocalAPNs.Configuration) -> String {
        let credentials = server.credentials
        let (host, environment) = (settings.host, settings.environment.rawValue)
        return """
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

            or, with a certificate instead of team, key and keyFile:
                    certificate: \(Self.absolute(credentials.clientPath))
                    certificateKey: { $file: \(Self.absolute(credentials.clientKeyPath)) }
            """
    }

    /// Makes a path absolute, because a pipeline file's relative paths begin at the folder of the file.
    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }
}
