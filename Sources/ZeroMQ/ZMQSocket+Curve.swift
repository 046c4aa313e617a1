import CZeroMQ

extension ZMQSocket {
    /// Encrypts all connections, and lets in only the clients that `authorization` lists for the domain. Call it before
    /// `bind`. The server must be the side that binds.
    ///
    /// The socket keeps `authorization` alive.
    package func useCurveServer(
        secretKey: CurveSecretKey, authorization: ClientAuthorization, domain: String
    ) throws(ZMQError) {
        guard authorization.context === context else {
            throw ZMQError(
                code: EINVAL, operation: "set CURVE server", detail: "the authorization belongs to another context")
        }
        try set(ZMQ_CURVE_SERVER, 1, "set CURVE server")
        try set(ZMQ_CURVE_SECRETKEY, bytes: secretKey.bytes, "set CURVE secret key")
        try set(ZMQ_ZAP_DOMAIN, bytes: Array(domain.utf8), "set ZAP domain")
        self.authorization = authorization
    }

    /// Encrypts the connections that later `connect` calls make, and accepts only the server that owns `serverKey`.
    package func useCurveClient(_ keys: CurveKeyPair, serverKey: CurvePublicKey) throws(ZMQError) {
        try set(ZMQ_CURVE_SERVERKEY, bytes: serverKey.bytes, "set CURVE server key")
        try set(ZMQ_CURVE_PUBLICKEY, bytes: keys.publicKey.bytes, "set CURVE public key")
        try set(ZMQ_CURVE_SECRETKEY, bytes: keys.secretKey.bytes, "set CURVE secret key")
    }
}
