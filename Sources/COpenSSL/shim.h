#include <openssl/asn1.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Swift sees neither macros that call functions nor functions with variable arguments.

static inline EVP_PKEY *p256_generate(void) { return EVP_EC_gen("P-256"); }

static inline int hmac_sha256_begin(EVP_MAC_CTX *context, const unsigned char *key, size_t bytes) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_init(context, key, bytes, parameters);
}

// Takes ownership of the name if it returns 1.
static inline int general_names_push(GENERAL_NAMES *names, GENERAL_NAME *name) {
    return sk_GENERAL_NAME_push(names, name) > 0;
}
